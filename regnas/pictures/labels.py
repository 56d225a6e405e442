"""Check the labels of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.errors import DataError


def check_labels(
    source: str, split: str, targets: NDArray[np.int64], ids: NDArray[Any], classes: Sequence[str]
) -> None:
    """Refuse class names that occur twice, targets outside the classes, and samples of a single class."""
    repeated = sorted({name for name in classes if list(classes).count(name) > 1})
    if repeated:
        raise DataError(f'{source}: {len(repeated)} class names are used twice, first "{repeated[0]}"')
    check_range(split, targets, ids, classes)
    found = np.unique(targets)
    if len(found) < 2:
        raise DataError(
            f'{source} must have samples of at least two classes, got {len(targets):,} samples of "{classes[found[0]]}"'
        )


def check_range(split: str, targets: NDArray[np.int64], ids: NDArray[Any], classes: Sequence[str]) -> None:
    """Refuse targets that are not numbers of classes."""
    outside = np.flatnonzero((targets < 0) | (targets >= len(classes)))
    if len(outside):
        first = outside[0]
        raise DataError(
            f"{len(outside):,} of {len(targets):,} targets of the {split} split are outside 0..{len(classes) - 1}, "
            f"first {targets[first]} of {ids[first]}"
        )
