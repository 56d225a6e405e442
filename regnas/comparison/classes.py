"""Convert columns to classes and clusters: numbers stay unchanged, names are numbered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.files.columns import NOTHING, Coded, Column, refuse_missing
from regnas.errors import ArtifactError
from regnas.flips.ordering import distinct


def encode(column: Column) -> Column:
    """Convert texts to codes; leave other columns unchanged."""
    if isinstance(column, Coded) or column.dtype.kind != "U":
        return column
    values, codes = distinct(column)
    return Coded(codes, values)


def numbers(column: Column, where: str) -> NDArray[np.int64] | None:
    """Return the integers [N] of a column; None if the column has names.

    Numbers that are written as texts or with a fraction of zero are integers too: CSV has no types, and pandas turns
    integers into floats if one is missing. Other fractions and missing numbers are refused.
    """
    if isinstance(column, Coded):
        values = _numbers_of_texts(column, where)
        return None if values is None else values[column.codes]
    if column.dtype.kind == "f":
        refuse_missing(np.isnan(column), where)
        return _whole(column.astype(np.float64), where)
    if column.dtype.kind == "u" and len(column) and column.max() > np.iinfo(np.int64).max:
        raise ArtifactError(f"{where} must be integers of 64 bits, got {column.max()}")
    return column.astype(np.int64)


def complete(names: Coded, where: str) -> Coded:
    """Return the names unchanged; refuse empty names."""
    refuse_missing(np.isin(names.codes, np.flatnonzero(names.values == "")), where)
    return names


def merge(first: Coded, second: Coded) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...]]:
    """Number two columns by the sorted union of their names; return both columns [N], [N] and the names."""
    union = np.union1d(first.values, second.values)
    of_first, of_second = (np.searchsorted(union, each.values)[each.codes] for each in (first, second))
    return of_first, of_second, tuple(union.tolist())


def clusters(column: Column, where: str) -> NDArray[np.int64]:
    """Return the cluster of each sample [N]: integers unchanged, names by their place in the alphabet."""
    whole = numbers(column, where)
    if whole is not None:
        return whole
    assert isinstance(column, Coded)  # everything else is a number
    named = complete(column, where)
    return np.searchsorted(np.sort(named.values), named.values)[named.codes]


def _numbers_of_texts(column: Coded, where: str) -> NDArray[np.int64] | None:
    missing = np.array([text.strip().lower() in NOTHING for text in column.values.tolist()], dtype=np.bool_)
    try:
        values = column.values[~missing].astype(np.float64)
    except ValueError:
        return None
    if len(values) == 0 or not np.isfinite(values).all():
        return None
    refuse_missing(missing[column.codes], where)
    try:
        return column.values.astype(np.int64)
    except (ValueError, OverflowError):
        return _whole(values, where)


def _whole(values: NDArray[np.float64], where: str) -> NDArray[np.int64]:
    broken = values[(values != np.floor(values)) | (np.abs(values) > 2**53)]
    if len(broken):
        raise ArtifactError(f"{where} must be integers or names, got {broken[0]:g}")
    return values.astype(np.int64)
