"""Any folder of class folders with a training and a test part."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from regnas.components.paths import IS_PATH, path_key
from regnas.data.fitting import fit_once
from regnas.data.holding_out import check_fraction, hold_out
from regnas.data.image_decoding import Decoder
from regnas.data.image_transforms import Transform
from regnas.data.packs import Kind, Pack, Policy, make_pack, settle_damage
from regnas.data.preprocessing import IMAGENET
from regnas.data.splits import Split, SplitName, Splits
from regnas.data.streaming import Images, StreamedImages
from regnas.errors import DataError
from regnas.pictures.decoding import MODES
from regnas.pictures.files import ImageFiles, ListedImage
from regnas.pictures.listing import list_folder
from regnas.runtime.files import cache_folder, digest_of


@dataclass(frozen=True)
class ImageFolder:
    """A folder of images: train/<class>/*.jpg and test/<class>/*.jpg (or val/ in place of test/).

    ``channels`` is 3 for color and 1 for gray. ``transform`` is "fit" (the center square, resized to ``size`` and
    normalized by the training images) or "imagenet" (the evaluation of the papers: the shorter side resized to
    size / 0.875, the center crop, and the mean and standard deviation of ImageNet).

    ``keep`` = "all" keeps all images in memory. "search" keeps those of the search split, which is read thousands of
    times; the others are made by ``workers`` threads (0: one per core) when they are needed. Use it for data that are
    larger than the memory. They are made from the files or, if ``pack`` is "pixels" or "jpeg", from a pack in ``cache``
    of what was decoded once. With "jpeg", training images have the loss of a JPEG of quality 95.

    All images are decoded once before training. Those that cannot be read are refused or, if ``damaged`` is "skip",
    left out.

    The search split is ``search_fraction`` of the training images or, if it is not 0, about ``search_images`` of them,
    a whole number per class.
    """

    path: str = field(metadata=IS_PATH)
    size: int
    channels: int = 3
    search_fraction: float = 0.1
    seed: int = 0
    cache: str = path_key("")  # the default is regnas in $XDG_CACHE_HOME or ~/.cache
    transform: Transform = "fit"
    keep: Literal["all", "search"] = "all"
    search_images: int = 0
    workers: int = 0
    pack: Literal["none", "pixels", "jpeg"] = "none"
    damaged: Policy = "refuse"

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size must be 1 or above, got {self.size}")
        if self.channels not in MODES:
            raise ValueError(f"channels must be 3 for color or 1 for gray, got {self.channels}")
        if self.transform == "imagenet" and self.channels != len(IMAGENET.mean):
            raise ValueError(f'channels must be 3 for the transform "imagenet", got {self.channels}')
        if self.keep == "all" and self.pack != "none":
            raise ValueError(f'pack must be "none" if keep is "all", got "{self.pack}". Set keep to "search".')
        check_fraction("search_fraction", self.search_fraction)
        for name in ("search_images", "workers"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or above, got {getattr(self, name)}")

    def load(self) -> Splits:
        listed = list_folder(self.folder)
        self._search_fraction(len(listed[0]))  # refuse before decoding
        train, report = self._sound(*listed)
        classes = _classes_of(listed[0])
        lost = sorted(set(classes) - {image.class_name for image in train.listed})
        if lost:
            raise DataError(
                f"all classes of {self.folder / 'train'} must have an image that can be read, got {len(lost)} without, "
                f'first "{lost[0]}". Repair or remove them.'
            )
        both = folder_split("train", self._kept(train.images), train.listed, classes)
        kept, held = hold_out(both.targets.numpy(), self._search_fraction(len(both)), self.seed)
        remaining, search = both.part("train", kept), both.part("search", held)
        return Splits(
            train=remaining,
            search=replace(search, images=self._in_memory(search.images)),
            report=folder_split("report", self._kept(report.images), report.listed, classes, first_group=len(both)),
            classes=classes,
            preprocessing=IMAGENET if self.transform == "imagenet" else fit_once(remaining.images, self._place),
        )

    def streamed(self, name: SplitName) -> tuple[Split, tuple[str, ...]]:
        """Return one split, with the images as files that are not decoded, and the classes.

        Damaged images are left out as in ``load``, and refused when they are met.
        """
        listed = list_folder(self.folder)
        classes = _classes_of(listed[0])
        train, report = self._sound(*listed) if self.damaged == "skip" else map(self._part, listed)
        if name == "report":
            return folder_split("report", report.images, report.listed, classes, first_group=len(train.listed)), classes
        both = folder_split("train", train.images, train.listed, classes)
        kept, held = hold_out(both.targets.numpy(), self._search_fraction(len(both)), self.seed)
        return both.part(name, held if name == "search" else kept), classes

    @property
    def folder(self) -> Path:
        return Path(self.path).expanduser().resolve()

    def _search_fraction(self, train_images: int) -> float:
        if self.search_images >= train_images:
            raise DataError(
                f"search_images must be below the number of images in train/ ({train_images:,}), got "
                f"{self.search_images:,}"
            )
        return self.search_images / train_images if self.search_images else self.search_fraction

    def _sound(self, train: list[ListedImage], report: list[ListedImage]) -> tuple[_Part, _Part]:
        """Return the images of both parts that can be read, with their packs, or refuse those that cannot."""
        kinds: tuple[Kind, Kind] = ("checked", "checked")
        if self.keep == "all" or self.pack == "pixels":
            kinds = ("pixels", "pixels")
        elif self.pack == "jpeg":  # published numbers are those of the files
            kinds = ("jpeg", "checked")
        parts = self._part(train), self._part(report)
        packs = [
            make_pack(self._pack_place(kind, name), kind, self._decoder, part.images.files)
            for part, kind, name in zip(parts, kinds, ("train", "report"), strict=True)
        ]
        problems = [problem for pack in packs for problem in pack.problems.values()]
        report_file = self._place / f"damaged-{digest_of(str(self.folder))[:16]}.txt"
        settle_damage(problems, len(train) + len(report), self.folder, self.damaged, report_file)
        first, second = (part.packed(pack) for part, pack in zip(parts, packs, strict=True))
        return first, second

    def _part(self, listed: list[ListedImage]) -> _Part:
        return _Part(listed, StreamedImages(self._decoder, ImageFiles.of(listed)))

    def _kept(self, images: StreamedImages) -> Images:
        return self._in_memory(images) if self.keep == "all" else images

    def _in_memory(self, images: Images) -> Tensor:
        """Return the exact pixels, decoded at most once."""
        if isinstance(images, Tensor):
            return images
        if images.packed is None or images.packed.changes_pixels:
            place = self._pack_place("pixels", images.files.sha256(""))
            images = images.with_pack(make_pack(place, "pixels", images.decoder, images.files))
        return images[:]

    def _pack_place(self, kind: Kind, part: str) -> Path:
        decoding = [str(self.folder), self.size, self.channels, self.transform, kind, part]
        return self._place / digest_of(decoding)[:32]

    @property
    def _decoder(self) -> Decoder:
        return Decoder(self.folder, self.size, self.channels, self.transform, self.workers)

    @property
    def _place(self) -> Path:
        return (Path(self.cache).expanduser() if self.cache else cache_folder()) / "image_folder"


@dataclass(frozen=True)
class _Part:
    """The images of train/ or of test/."""

    listed: list[ListedImage]
    images: StreamedImages

    def packed(self, pack: Pack) -> _Part:
        """Return the images that can be read, with their rows in the pack."""
        sound = np.setdiff1d(np.arange(len(self.listed)), list(pack.problems))
        images = self.images if pack.kind == "checked" else self.images.with_pack(pack)
        return _Part([self.listed[index] for index in sound], images.part(sound))


def _classes_of(listed: list[ListedImage]) -> tuple[str, ...]:
    return tuple(sorted({image.class_name for image in listed}))


def folder_split(
    name: str, images: Images, listed: list[ListedImage], classes: tuple[str, ...], first_group: int = 0
) -> Split:
    number = {class_name: index for index, class_name in enumerate(classes)}
    return Split(
        name=name,
        images=images,
        targets=torch.tensor([number[image.class_name] for image in listed], dtype=torch.int64),
        ids=np.array([image.name for image in listed], dtype=np.str_),
        groups=np.arange(first_group, first_group + len(listed), dtype=np.int64),
    )
