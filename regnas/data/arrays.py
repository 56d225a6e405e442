"""Arrays in an npz file, as numpy people have them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regnas.data.holding_out import check_fraction
from regnas.data.numbering import numbered_split
from regnas.data.splits import Preprocessing, Split, Splits
from regnas.errors import DataError
from regnas.runtime.npz import ArraySpec, read_arrays

MOST_CHANNELS = 4

# ImageNet at 64 by 64 pixels is 16 GB; what is larger by far does not fit into the memory either.
SIZE_LIMIT = 64 * 2**30

# Kinds and shapes are checked below, where there is a remedy to name.
ARRAYS = {
    "train_images": ArraySpec(),
    "train_targets": ArraySpec(),
    "test_images": ArraySpec(),
    "test_targets": ArraySpec(),
    "search_images": ArraySpec(required=False),
    "search_targets": ArraySpec(required=False),
    "classes": ArraySpec(required=False),
}


@dataclass(frozen=True)
class Arrays:
    """Arrays in an npz file: train_images, train_targets, test_images, test_targets.

    Images are uint8 [N, H, W] or [N, H, W, C]; targets are integers from 0. Optional are search_images and
    search_targets, in place of a held out ``search_fraction`` of the training samples, and classes, the names.
    """

    path: str
    search_fraction: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        check_fraction("search_fraction", self.search_fraction)

    def load(self) -> Splits:
        path = Path(self.path).expanduser()
        arrays = read_arrays(path, ARRAYS, DataError, SIZE_LIMIT)
        own_search = arrays.keys() & {"search_images", "search_targets"}
        if len(own_search) == 1:
            (found,) = own_search
            raise DataError(f"{path} has {found} alone: search_images and search_targets go together")
        train = _split(path, arrays, "train", "train", first_group=0)
        report = _split(path, arrays, "report", "test", first_group=len(train))
        classes = _classes(path, arrays, "train_targets", train.targets.numpy())
        if not own_search:
            return Splits.holding_out(train, report, classes, self.search_fraction, self.seed)
        search = _split(path, arrays, "search", "search", first_group=len(train) + len(report))
        return Splits(train, search, report, classes, Preprocessing.fitted_to(train.images))


def report_part(path: Path) -> tuple[Split, tuple[str, ...]]:
    """The test images of a file alone, and the classes; the file need not hold any to train on."""
    specs = {
        "test_images": ArraySpec(),
        "test_targets": ArraySpec(),
        "train_targets": ArraySpec("iu", 1, required=False),
        "classes": ArraySpec(required=False),
    }
    arrays = read_arrays(path, specs, DataError, SIZE_LIMIT)
    report = _split(path, arrays, "report", "test", first_group=0)
    if len(arrays.get("train_targets", ())):
        return report, _classes(path, arrays, "train_targets", arrays["train_targets"])
    return report, _classes(path, arrays, "test_targets", report.targets.numpy())


def _split(path: Path, arrays: dict[str, NDArray[Any]], name: str, part: str, first_group: int) -> Split:
    # Taken out, so that the images are freed once the split has them with the channels first.
    images, targets = arrays.pop(f"{part}_images"), arrays.pop(f"{part}_targets")
    _check_images(path, f"{part}_images", images)
    if targets.dtype.kind not in "iu" or targets.shape != (len(images),):
        raise DataError(
            f"{part}_targets in {path} is {targets.dtype} {list(targets.shape)}: it has to be one integer for "
            f"each of the {len(images):,} images"
        )
    if len(images) == 0:
        raise DataError(f"{part}_images in {path} is empty")
    return numbered_split(name, torch.from_numpy(images), torch.from_numpy(targets.astype(np.int64)), part, first_group)


def _check_images(path: Path, key: str, images: NDArray[Any]) -> None:
    if images.dtype != np.uint8:
        remedy = "(images * 255).round()" if images.dtype.kind == "f" else "images"
        raise DataError(
            f"{key} in {path} is {images.dtype}: images have to be uint8 from 0 to 255; "
            f'if they are from 0 to {1 if images.dtype.kind == "f" else 255}, save {remedy}.astype("uint8")'
        )
    if images.ndim not in (3, 4) or 0 in images.shape[1:]:
        raise DataError(f"{key} in {path} has the shape {list(images.shape)}: [N, H, W] or [N, H, W, C] is needed")
    if images.ndim == 4 and images.shape[3] > MOST_CHANNELS:
        raise DataError(
            f"{key} in {path} has {images.shape[3]} channels, its shape is {list(images.shape)}: the channels come "
            f"last here; if yours come first, save images.transpose(0, 2, 3, 1)"
        )


def _classes(path: Path, arrays: dict[str, NDArray[Any]], key: str, targets: NDArray[Any]) -> tuple[str, ...]:
    """The names in the file, else the numbers; numbers with gaps are a mistake more often than meant."""
    if "classes" in arrays:
        names = arrays["classes"]
        if names.dtype.kind != "U" or names.ndim != 1:
            raise DataError(f"classes in {path} is {names.dtype} {list(names.shape)}: it has to be a list of texts")
        return tuple(names.tolist())
    found = np.unique(targets)
    if found[0] != 0 or found[-1] != len(found) - 1:
        raise DataError(
            f"{key} in {path} has {len(found)} classes, numbered {found[0]}..{found[-1]}: number them "
            f'0..{len(found) - 1}, or add the names of all of them as "classes"'
        )
    return tuple(str(number) for number in found.tolist())
