"""What every format provides: columns with one value per sample, and scores with one row per sample."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from regnas.errors import ArtifactError

# Bytes that the columns read from one file may take; more is refused before anything is allocated.
SIZE_LIMIT = 4 * 2**30

# A column with more different values names samples rather than slices.
MOST_VALUES = 1000

ID, TARGET, PREDICTED, GROUP = "id", "target", "predicted", "group"
SCORES = ("logits", "probabilities")
SCORE = re.compile(rf"({'|'.join(SCORES)})_(0|[1-9][0-9]*)")  # the name of a column with the scores of one class
COMPLETE = (ID, TARGET, PREDICTED, GROUP)  # columns in which no value may be missing
PANDAS_INDEX = "__index_level_"  # how the names of columns start that pandas writes for the index
NOT_SLICES = (*COMPLETE, *SCORES, "model", "split")

# What spreadsheets and pandas write for a number that is not there.
NOTHING = ("", "nan", "na", "n/a", "null", "none", "<na>")


@dataclass(frozen=True, eq=False)
class Coded:
    """Texts that repeat: the n-th is values[codes[n]].

    codes: [N]
    values: [V], no two alike
    """

    codes: NDArray[np.int64]
    values: NDArray[np.str_]


Column = Coded | NDArray[Any]


@dataclass(frozen=True, eq=False)
class Content:
    """What was read from a file.

    columns: by name; instead of a column that cannot be a slice, the reason
    scores: [N, C] if they were requested
    """

    columns: dict[str, Column | str]
    scores: NDArray[Any] | None = None


class PredictionFile(Protocol):
    """An opened file: its columns are known, and nothing large is read yet."""

    def __init__(self, path: Path) -> None: ...

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns, those that cannot be used (lists, dates, objects) left out."""
        ...

    @property
    def scores(self) -> Sequence[str]:
        """Which of "logits" and "probabilities" the file holds."""
        ...

    def read(self, columns: Sequence[str], scores: str | None) -> Content: ...


def refuse_missing(rows: NDArray[np.bool_], where: str) -> None:
    """Refuse a column in which values are missing: those of ``rows`` [N]."""
    missing = np.flatnonzero(rows)
    if len(missing):
        shown = ", ".join(f"{row + 1:,}" for row in missing[:3].tolist())
        raise ArtifactError(
            f"{where} must have a value for every sample, got none in {len(missing):,} of {len(rows):,} rows, such as "
            f"row {shown}"
        )


def with_gaps(values: NDArray[Any], missing: NDArray[np.bool_]) -> Column:
    """Return whole numbers and booleans as texts if some are missing [N]; those are empty, like a cell of CSV."""
    if not missing.any():
        return values
    held = values[~missing]
    if values.dtype.kind == "f" and not ((held == np.floor(held)) & (np.abs(held) <= 2**53)).all():
        return np.where(missing, np.nan, values)
    found, places = np.unique(held, return_inverse=True)
    written = np.where(found, "true", "false") if values.dtype.kind == "b" else found.astype(np.int64).astype(np.str_)
    codes = np.full(len(values), len(found), dtype=np.int64)
    codes[~missing] = places
    return Coded(codes, np.append(written, ""))


def as_rows(values: NDArray[np.float32], lengths: NDArray[np.int64], where: str) -> NDArray[np.float32]:
    """Return lists of these lengths [N], which follow each other in ``values``, as [N, C]; all must have one length."""
    odd = np.flatnonzero(lengths != lengths[:1])
    if len(odd):
        raise ArtifactError(f"{where} has {lengths[0]} values in row 1 and {lengths[odd[0]]} in row {odd[0] + 1:,}")
    return values.reshape(len(lengths), int(lengths[0]) if len(lengths) else 0)


def score_columns(names: Iterable[str], kind: str, where: str) -> list[str]:
    """Return the names of the columns with the scores of class 0, 1 and so on."""
    found = [name for name in names if (match := SCORE.fullmatch(name)) and match[1] == kind]
    expected = [f"{kind}_{place}" for place in range(len(found))]
    missing = sorted(set(expected) - set(found))
    if missing:
        raise ArtifactError(
            f"{where} has {len(found):,} columns of {kind} without {missing[0]}: number them from 0, one for each class"
        )
    return expected


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse columns of one name."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ArtifactError(f'{where} has several columns called "{twice[0]}": give each its own name')


def too_many(values: int) -> str:
    return f"it has {values:,} different values, more than {MOST_VALUES:,}"


def unpack(column: Coded, where: str) -> NDArray[np.str_]:
    """[N], the texts themselves."""
    samples = len(column.codes)
    check_width(samples, column.values.dtype.itemsize // 4, where)
    if len(column.values) == samples and np.array_equal(column.codes, np.arange(samples)):
        return column.values
    return column.values[column.codes]


def check_width(samples: int, width: int, where: str) -> None:
    """Refuse texts that are too long: they become an array as wide as the longest, four bytes per character."""
    if samples * width * 4 > SIZE_LIMIT:
        raise ArtifactError(
            f"{where} holds texts of up to {width:,} characters, which take {samples * width * 4:,} bytes for "
            f"{samples:,} samples, over the limit of {SIZE_LIMIT:,}"
        )
