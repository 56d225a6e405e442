"""The result of loading a data set: three disjoint splits.

Networks are trained on ``train``, the search compares candidates on ``search``, and every published number comes from
``report``. This is valid only if no sample, and no variant of one, is in two splits. It is checked here for every data
set, before anything is trained.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regnas.data.holding_out import hold_out
from regnas.data.preprocessing import Preprocessing
from regnas.data.streaming import Images
from regnas.errors import DataError
from regnas.pictures.arrays import numbered_ids
from regnas.pictures.labels import check_range
from regnas.runtime.files import digest_of

__all__ = ["Preprocessing", "Split", "SplitName", "Splits", "hold_out"]

SplitName = Literal["train", "search", "report"]


@dataclass(frozen=True, eq=False)
class Split:
    """Samples in a fixed order; ``groups`` is the same number for all variants of one original."""

    name: str
    images: Images  # [N, C, H, W] uint8
    targets: Tensor  # [N] int64
    ids: NDArray[np.str_]  # [N]
    groups: NDArray[np.int64]  # [N]

    def __post_init__(self) -> None:
        if self.images.dtype != torch.uint8 or self.images.ndim != 4:
            found = f"{self.images.dtype} {list(self.images.shape)}"
            raise DataError(f"the images of the {self.name} split must be uint8 [N, C, H, W], got {found}")
        if self.targets.dtype != torch.int64:
            raise DataError(f"the targets of the {self.name} split must be int64, got {self.targets.dtype}")
        shapes = {"targets": self.targets.shape, "ids": self.ids.shape, "groups": self.groups.shape}
        for what, shape in shapes.items():
            if tuple(shape) != (len(self),):
                raise DataError(f"the {self.name} split has {len(self)} images and {what} of shape {list(shape)}")

    def __len__(self) -> int:
        return len(self.images)

    @cached_property
    def digest(self) -> str:
        """The sha256 of everything in the split except its name; streamed images have a digest of their own."""
        content = hashlib.sha256(digest_of([list(self.images.shape), self.ids.tolist()]).encode())
        content.update(np.ascontiguousarray(self.groups, dtype="<i8").data)
        content.update(np.ascontiguousarray(self.targets.cpu().numpy(), dtype="<i8").data)
        if isinstance(self.images, Tensor):
            content.update(self.images.cpu().contiguous().numpy().data)
        else:
            content.update(self.images.digest.encode())
        return content.hexdigest()

    def part(self, name: str, indices: NDArray[np.int64]) -> Split:
        """Return a selection; streamed images stay streamed."""
        chosen = torch.from_numpy(indices)
        images = self.images[chosen] if isinstance(self.images, Tensor) else self.images.part(indices)
        return Split(name, images, self.targets[chosen], self.ids[indices], self.groups[indices])


@dataclass(frozen=True, eq=False)
class Splits:
    """The three splits of a data set; refuses data on which a comparison would be worthless."""

    train: Split
    search: Split
    report: Split
    classes: tuple[str, ...]
    preprocessing: Preprocessing

    def __post_init__(self) -> None:
        self._check_shapes()
        self._check_classes()
        self._check_disjoint()

    @classmethod
    def holding_out(
        cls, train: Split, report: Split, classes: tuple[str, ...], search_fraction: float, seed: int
    ) -> Splits:
        """Build the splits of data in two parts: the search split is held out of the training samples."""
        kept, held = hold_out(train.targets.numpy(), search_fraction, seed, train.groups)
        remaining = train.part("train", kept)
        # Fitted to the training samples that are left: the other splits must not leak into it.
        preprocessing = Preprocessing.fitted_to(remaining.images)
        return cls(remaining, train.part("search", held), report, classes, preprocessing)

    @property
    def all(self) -> tuple[Split, Split, Split]:
        return self.train, self.search, self.report

    def named(self, name: SplitName) -> Split:
        return {"train": self.train, "search": self.search, "report": self.report}[name]

    @property
    def input_shape(self) -> tuple[int, int, int]:
        _, channels, height, width = self.train.images.shape
        return channels, height, width

    @cached_property
    def digest(self) -> str:
        return digest_of([[split.digest for split in self.all], list(self.classes)])

    def summary(self) -> dict[str, Any]:
        return {
            "digest": self.digest,
            "classes": list(self.classes),
            "input_shape": list(self.input_shape),
            "splits": {split.name: {"samples": len(split), "digest": split.digest} for split in self.all},
            "preprocessing": self.preprocessing.to_json(),
        }

    def _check_shapes(self) -> None:
        for split in self.all:
            if len(split) == 0:
                counts = ", ".join(f"{each.name} {len(each):,}" for each in self.all)
                raise DataError(f"the {split.name} split must have samples, got none ({counts})")
            if split.images.shape[1:] != self.train.images.shape[1:]:
                train, other = (" x ".join(map(str, each.images.shape[1:])) for each in (self.train, split))
                raise DataError(f"images of the {split.name} split must be {train} as in the train split, got {other}")
        if len(self.preprocessing.mean) != self.input_shape[0]:
            channels = len(self.preprocessing.mean)
            raise DataError(f"the images must have {channels} channels as the preprocessing, got {self.input_shape[0]}")

    def _check_classes(self) -> None:
        repeated = sorted({name for name in self.classes if self.classes.count(name) > 1})
        if repeated:
            raise DataError(f'{len(repeated)} class names are used twice, first "{repeated[0]}"')
        _check_range(self.train, self.classes)
        trained = set(np.unique(self.train.targets.numpy()).tolist())
        if len(trained) < 2:
            only = self.classes[next(iter(trained))]
            raise DataError(f'all {len(self.train):,} samples of the train split are "{only}": two classes are needed')
        for split in (self.search, self.report):
            _check_range(split, self.classes)
            found = np.unique(split.targets.numpy()).tolist()
            unseen = [self.classes[target] for target in found if target not in trained]
            if unseen:
                names = ", ".join(f'"{name}"' for name in unseen)
                raise DataError(f"{len(unseen)} classes of the {split.name} split have no training sample: {names}")

    def _check_disjoint(self) -> None:
        ids = np.concatenate([split.ids for split in self.all])
        unique, counts = np.unique(ids, return_counts=True)
        if len(unique) < len(ids):
            repeated = unique[counts > 1]
            raise DataError(f"{len(repeated):,} sample ids are used more than once, first {repeated[0]}")
        for index, split in enumerate(self.all):
            for other in self.all[index + 1 :]:
                shared = np.intersect1d(split.groups, other.groups)
                if len(shared):
                    pair = [each.ids[np.flatnonzero(each.groups == shared[0])[0]] for each in (split, other)]
                    raise DataError(
                        f"{len(shared):,} originals have variants in both the {split.name} and the {other.name} "
                        f"split, first {pair[0]} and {pair[1]}"
                    )


def numbered_split(name: str, images: Tensor, targets: Tensor, part: str, first_group: int = 0) -> Split:
    """Return a split of images [N, H, W] or [N, H, W, C] with ids ``part/0``, ``part/1``, ...; one group per sample."""
    channels_first = images[:, None] if images.ndim == 3 else images.permute(0, 3, 1, 2)
    return Split(
        name=name,
        images=channels_first.contiguous(),  # [N, C, H, W]
        targets=targets.to(torch.int64),
        ids=numbered_ids(part, len(images)),
        groups=np.arange(first_group, first_group + len(images), dtype=np.int64),
    )


def _check_range(split: Split, classes: tuple[str, ...]) -> None:
    check_range(split.name, split.targets.numpy(), split.ids, classes)
