"""Predictions in a CSV file: a line of names, then a line for each sample."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from regnas.comparison.files.arrow import CODED, check_file_size, inferred_ids, opened, to_column, to_numpy, to_slice
from regnas.comparison.files.columns import COMPLETE, ID, SCORES, Column, Content
from regnas.errors import ArtifactError

LONGEST_HEADER = 2**20
BLOCK = 2**23  # bytes that are parsed at once, also the longest line

_SCORE = re.compile(rf"({'|'.join(SCORES)})_(0|[1-9][0-9]*)")


class CsvFile:
    """Columns have no types: what they hold is decided from all their values."""

    def __init__(self, path: Path) -> None:
        self.path = path
        check_file_size(path)
        self._names = _header(path)
        twice = sorted({name for name in self._names if self._names.count(name) > 1})
        if twice:
            raise ArtifactError(f'{path} has several columns called "{twice[0]}": give each its own name')

    @property
    def columns(self) -> Sequence[str]:
        return [name for name in self._names if name and not _SCORE.fullmatch(name)]

    @property
    def scores(self) -> Sequence[str]:
        return [kind for kind in SCORES if f"{kind}_0" in self._names]

    def read(self, columns: Sequence[str], scores: str | None) -> Content:
        of_classes = self._columns_of(scores) if scores else []
        types = dict.fromkeys(columns, CODED) | {ID: pa.string()} | dict.fromkeys(of_classes, pa.float32())
        with opened(self.path) as source:
            table = arrow_csv.read_csv(
                source,
                arrow_csv.ReadOptions(block_size=BLOCK),
                arrow_csv.ParseOptions(newlines_in_values=True),
                arrow_csv.ConvertOptions(include_columns=[*columns, *of_classes], column_types=types),
            )
            read: dict[str, Column | str] = {}
            for name in columns:
                where = f'{self.path}: column "{name}"'
                if name == ID:
                    read[name] = inferred_ids(table[name], where)
                else:
                    # an empty cell is an empty text, which whoever needs a value refuses
                    read[name] = to_column(table[name], where, False) if name in COMPLETE else to_slice(table[name])
            return Content(read, self._score_rows(table, of_classes) if scores else None)

    def _columns_of(self, scores: str) -> list[str]:
        found = [name for name in self._names if (match := _SCORE.fullmatch(name)) and match[1] == scores]
        expected = [f"{scores}_{index}" for index in range(len(found))]
        missing = sorted(set(expected) - set(found))
        if missing:
            raise ArtifactError(
                f"{self.path} has {len(found):,} columns of {scores} without {missing[0]}: number them from 0, one for "
                "each class"
            )
        return expected

    def _score_rows(self, table: pa.Table, names: Sequence[str]) -> NDArray[np.float32]:
        return np.column_stack([to_numpy(table[name]) for name in names])  # an empty cell becomes NaN


def _header(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as source:
            line = source.readline(LONGEST_HEADER)
        return next(csv.reader([line]), [])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ArtifactError(f"{path} is damaged or not a CSV file: {str(error).splitlines()[0]}") from None
