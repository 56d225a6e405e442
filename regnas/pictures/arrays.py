"""Labeled images as arrays in an npz file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.errors import DataError
from regnas.runtime.npz import ArraySpec, read_arrays

MOST_CHANNELS = 4

# ImageNet at 64 by 64 pixels has 16 GB; much larger files do not fit into memory anyway.
SIZE_LIMIT = 64 * 2**30


def read_report_part(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64], tuple[str, ...]]:
    """Read the test images [N, H, W] or [N, H, W, C], their targets and the class names."""
    specs = {
        "test_images": ArraySpec(),
        "test_targets": ArraySpec(),
        "train_targets": ArraySpec("iu", 1, required=False),
        "classes": ArraySpec(required=False),
    }
    arrays = read_arrays(path, specs, DataError, SIZE_LIMIT)
    images, targets = take_part(path, arrays, "test")
    if len(arrays.get("train_targets", ())):
        return images, targets, class_names(path, arrays, "train_targets", arrays["train_targets"])
    return images, targets, class_names(path, arrays, "test_targets", targets)


def take_part(path: Path, arrays: dict[str, NDArray[Any]], part: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Remove images and targets of a part from the arrays and return them; the caller decides when to free them."""
    images, targets = arrays.pop(f"{part}_images"), arrays.pop(f"{part}_targets")
    _check_images(path, f"{part}_images", images)
    if targets.dtype.kind not in "iu" or targets.shape != (len(images),):
        raise DataError(
            f"{part}_targets in {path} must be one integer for each of the {len(images):,} images, "
            f"got {targets.dtype} {list(targets.shape)}"
        )
    if len(images) == 0:
        raise DataError(f"{part}_images in {path} is empty")
    return images, targets.astype(np.int64)


def class_names(path: Path, arrays: dict[str, NDArray[Any]], key: str, targets: NDArray[Any]) -> tuple[str, ...]:
    """Return the names in the file, else the numbers; refuse numbers with gaps, which are usually a mistake."""
    if "classes" in arrays:
        names = arrays["classes"]
        if names.dtype.kind != "U" or names.ndim != 1:
            raise DataError(f"classes in {path} must be a list of texts, got {names.dtype} {list(names.shape)}")
        return tuple(names.tolist())
    found = np.unique(targets)
    if found[0] != 0 or found[-1] != len(found) - 1:
        raise DataError(
            f"{key} in {path} must number the {len(found)} classes 0..{len(found) - 1}, got {found[0]}..{found[-1]}. "
            'Renumber them, or add the names of all classes as "classes".'
        )
    return tuple(str(number) for number in found.tolist())


def numbered_ids(part: str, count: int) -> NDArray[np.str_]:
    """Return ids for samples without names: ``part/0``, ``part/1``, ..."""
    return np.array([f"{part}/{index}" for index in range(count)], dtype=np.str_)


def _check_images(path: Path, key: str, images: NDArray[Any]) -> None:
    if images.dtype != np.uint8:
        remedy = "(images * 255).round()" if images.dtype.kind == "f" else "images"
        raise DataError(
            f"{key} in {path} must be uint8 from 0 to 255, got {images.dtype}. "
            f'If they are from 0 to {1 if images.dtype.kind == "f" else 255}, save {remedy}.astype("uint8").'
        )
    if images.ndim not in (3, 4) or 0 in images.shape[1:]:
        raise DataError(f"{key} in {path} must have the shape [N, H, W] or [N, H, W, C], got {list(images.shape)}")
    if images.ndim == 4 and images.shape[3] > MOST_CHANNELS:
        raise DataError(
            f"{key} in {path} must have 1 or 3 channels in the last dimension, got {images.shape[3]} of shape "
            f"{list(images.shape)}. If your channels come first, save images.transpose(0, 2, 3, 1)."
        )
