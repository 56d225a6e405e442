"""What every format provides: columns with one value per sample, and scores with one row per sample."""

from __future__ import annotations

from collections.abc import Sequence
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
COMPLETE = (ID, TARGET, PREDICTED, GROUP)  # columns in which no value may be missing
NOT_SLICES = (*COMPLETE, *SCORES, "model", "split")


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
