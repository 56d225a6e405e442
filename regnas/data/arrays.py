"""Images and targets as arrays in an npz file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regnas.components.paths import IS_PATH
from regnas.data.holding_out import check_fraction
from regnas.data.splits import Preprocessing, Split, Splits, numbered_split
from regnas.errors import DataError
from regnas.pictures.arrays import SIZE_LIMIT, class_names, read_report_part, take_part
from regnas.runtime.npz import ArraySpec, read_arrays

# Kinds and shapes are checked by take_part, which can name a remedy.
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

    path: str = field(metadata=IS_PATH)
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
            raise DataError(f"{path} must have both search_images and search_targets, got {found} alone")
        train = _split(path, arrays, "train", "train", first_group=0)
        report = _split(path, arrays, "report", "test", first_group=len(train))
        classes = class_names(path, arrays, "train_targets", train.targets.numpy())
        if not own_search:
            return Splits.holding_out(train, report, classes, self.search_fraction, self.seed)
        search = _split(path, arrays, "search", "search", first_group=len(train) + len(report))
        return Splits(train, search, report, classes, Preprocessing.fitted_to(train.images))


def report_part(path: Path) -> tuple[Split, tuple[str, ...]]:
    """Read the test images of a file and the classes; training images are optional."""
    images, targets, classes = read_report_part(path)
    return _numbered("report", images, targets, "test", first_group=0), classes


def _split(path: Path, arrays: dict[str, NDArray[Any]], name: str, part: str, first_group: int) -> Split:
    return _numbered(name, *take_part(path, arrays, part), part, first_group)


def _numbered(name: str, images: NDArray[np.uint8], targets: NDArray[np.int64], part: str, first_group: int) -> Split:
    return numbered_split(name, torch.from_numpy(images), torch.from_numpy(targets), part, first_group)
