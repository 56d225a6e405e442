"""The interface of all formats: columns with one value per sample, and scores with one row per sample."""

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

# The limit on the bytes of the columns read from one file; larger ones are refused before anything is allocated.
SIZE_LIMIT = 4 * 2**30

# A column with more different values names samples rather than slices.
MOST_VALUES = 1000

ID, TARGET, PREDICTED, GROUP = "id", "target", "predicted", "group"
SCORES = ("logits", "probabilities")
SCORE = re.compile(rf"({'|'.join(SCORES)})_(0|[1-9][0-9]*)")  # the name of a column with the scores of one class
COMPLETE = (ID, TARGET, PREDICTED, GROUP)  # columns that must not have missing values
PANDAS_INDEX = "__index_level_"  # the start of the names of columns that pandas writes for the index
NOT_SLICES = (*COMPLETE, *SCORES, "model", "split")

# The texts that spreadsheets and pandas write for a missing number.
NOTHING = ("", "nan", "na", "n/a", "null", "none", "<na>")


@dataclass(frozen=True, eq=False)
class Coded:
    """Texts that repeat: the n-th is values[codes[n]].

    codes: [N]
    values: [V], all different
    """

    codes: NDArray[np.int64]
    values: NDArray[np.str_]


Column = Coded | NDArray[Any]


@dataclass(frozen=True, eq=False)
class Content:
    """The content that was read from a file.

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
        """Names of the columns, without those that cannot be used (lists, dates, objects)."""
        ...

    @property
    def scores(self) -> Sequence[str]:
        """Which of "logits" and "probabilities" the file holds."""
        ...

    def read(self, columns: Sequence[str], scores: str | None) -> Content:
        """Read these columns and, unless ``scores`` is None, the scores of this name."""
        ...


def refuse_missing(rows: NDArray[np.bool_], where: str) -> None:
    """Refuse a column if values are missing; ``rows`` [N] marks the missing ones."""
    missing = np.flatnonzero(rows)
    if len(missing):
        shown = ", ".join(f"{row + 1:,}" for row in missing[:3].tolist())
        raise ArtifactError(
            f"{where} must have a value for every sample, got none in {len(missing):,} of {len(rows):,} rows, such as "
            f"row {shown}"
        )


def with_gaps(values: NDArray[Any], missing: NDArray[np.bool_]) -> Column:
    """Return whole numbers and booleans as texts if some are missing [N], with empty texts for these, as in CSV."""
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
    """Arrange lists of these lengths [N], which follow each other in ``values``, as [N, C]; lengths must not differ."""
    odd = np.flatnonzero(lengths != lengths[:1])
    if len(odd):
        raise ArtifactError(
            f"{where} must have as many values in every row, got {lengths[0]} in row 1 and {lengths[odd[0]]} in row "
            f"{odd[0] + 1:,}"
        )
    return values.reshape(len(lengths), int(lengths[0]) if len(lengths) else 0)


def score_columns(names: Iterable[str], kind: str, where: str) -> list[str]:
    """Return the names of the columns with the scores of class 0, 1 and so on."""
    found = [name for name in names if (match := SCORE.fullmatch(name)) and match[1] == kind]
    expected = [f"{kind}_{place}" for place in range(len(found))]
    missing = sorted(set(expected) - set(found))
    if missing:
        raise ArtifactError(
            f"{where} must have columns of {kind} numbered from 0, one per class, got {len(found):,} "
            f"without {missing[0]}"
        )
    return expected


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse several columns of the same name."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ArtifactError(f'{where} must have columns with different names, got "{twice[0]}" several times')


def too_many(values: int) -> str:
    """Say why a column with this number of different values is not a slice."""
    return f"it has {values:,} different values, more than {MOST_VALUES:,}"


def unpack(column: Coded, where: str) -> NDArray[np.str_]:
    """Return the texts themselves: [N]."""
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
