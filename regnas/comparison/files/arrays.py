"""Read columns from Python objects: lists, numpy arrays, tensors, and the series of data frame libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.files.columns import Column, Content, refuse_missing
from regnas.errors import ArtifactError

MISSING = ("NoneType", "NAType", "NaTType")


class ArrayColumns:
    """Columns in memory, with the interface of an opened file."""

    scores: Sequence[str] = ()

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = dict(columns)

    @property
    def columns(self) -> Sequence[str]:
        return list(self._columns)

    def read(self, columns: Sequence[str], scores: str | None) -> Content:
        """Return these columns."""
        return Content({name: self._columns[name] for name in columns})


def predicted_column(values: Any, classes: Sequence[Any] | None, where: str) -> NDArray[Any]:
    """Return the predicted classes [N], from classes [N] or from scores [N, C] by the highest score.

    The column of a score is the number of its class, or its place in ``classes``.
    """
    array = as_array(values, where)
    if array.ndim == 1:
        return array
    if array.ndim != 2 or array.dtype.kind != "f" or array.shape[1] < 2:
        raise ArtifactError(
            f"{where} must be classes of shape [N], or floating point scores of shape [N, C] with C of at least 2, got "
            f"{array.dtype} of shape {list(array.shape)}"
        )
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise ArtifactError(f"{where} has scores that are not finite in {len(bad):,} rows, such as row {bad[0] + 1:,}")
    highest: NDArray[np.int64] = array.argmax(axis=1)  # [N, C] -> [N]
    if classes is None:
        return highest
    names = flat_array(classes, "classes")
    if len(names) != array.shape[1]:
        raise ArtifactError(f"classes must name the {array.shape[1]:,} columns of {where}, got {len(names):,} names")
    chosen: NDArray[Any] = names[highest]
    return chosen


def flat_array(values: Any, where: str) -> NDArray[Any]:
    """Return one value per sample, [N]: text, integers, booleans or floating point numbers."""
    array = as_array(values, where)
    if array.ndim != 1:
        raise ArtifactError(f"{where} must have shape [N], got {list(array.shape)}")
    return array


def as_array(values: Any, where: str) -> NDArray[Any]:
    """Convert to an array of text, integers, booleans or floating point numbers; values must not be missing."""
    if hasattr(values, "detach"):  # a tensor of torch, on any device
        values = values.detach().cpu()
    if isinstance(values, str | bytes | Mapping | set | frozenset) or not hasattr(values, "__len__"):
        raise ArtifactError(f"{where} must be a list or an array, got {type(values).__name__}")
    flat = isinstance(values, list | tuple) and not any(hasattr(each, "__len__") and not isinstance(each, str | bytes)
                                                        for each in values[:1])  # fmt: skip
    try:
        # numpy would turn [1, "a", None] into texts: a list of single values is looked at one by one
        array = np.asarray(values, dtype=object) if flat else np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArtifactError(f"{where} cannot be read as an array: {str(error).splitlines()[0]}") from None
    if array.dtype.kind == "O":
        array = _typed(array, where)
    elif array.dtype.kind not in "Uiufb":
        array = _typed(array.astype(object), where)
    if array.dtype.kind == "f" and array.ndim == 1:
        refuse_missing(np.isnan(array), where)
    return array


def _typed(array: NDArray[Any], where: str) -> NDArray[Any]:
    """Give an array of Python objects the type that all of its values have."""
    if array.ndim != 1:
        raise ArtifactError(f"{where} must have one value per sample, or rows of equal length")
    kinds = set(map(type, array))
    nothing = [kind for kind in kinds if kind.__name__ in MISSING]
    if nothing or (float in kinds and len(kinds) > 1):
        refuse_missing(np.array([type(each) in nothing or each != each for each in array]), where)
    for base, dtype in ((str, np.str_), ((bool, np.bool_), np.bool_), ((int, np.integer), np.int64),
                        ((int, float, np.integer, np.floating), np.float64)):  # fmt: skip
        if all(issubclass(kind, base) for kind in kinds):
            try:
                return array.astype(dtype)
            except OverflowError:
                raise ArtifactError(f"{where} must be integers of 64 bits, got larger ones") from None
    found = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise ArtifactError(f"{where} must be all integers or all text, got {found}")
