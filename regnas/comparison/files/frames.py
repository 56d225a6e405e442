"""Predictions in a data frame of any library: pandas, polars, pyarrow, duckdb and others.

Frames are read through the Arrow PyCapsule interface (``__arrow_c_stream__``); if a library does not have it, through
``__dataframe__``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from regnas.comparison.files.arrow import is_text, is_usable, score_rows, to_column, to_numpy, to_slice
from regnas.comparison.files.columns import COMPLETE, ID, SCORES, Coded, Column, Content, unpack
from regnas.errors import ArtifactError

PANDAS_INDEX = "__index_level_"

_SCORE = re.compile(rf"({'|'.join(SCORES)})_(0|[1-9][0-9]*)")


class FrameColumns:
    """The columns of a data frame; the same interface as an opened file."""

    def __init__(self, frame: Any, where: str) -> None:
        self.where = where
        self._table = _to_table(frame, where)
        names = self._table.schema.names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ArtifactError(f'{where} has several columns called "{twice[0]}": give each its own name')

    @property
    def columns(self) -> Sequence[str]:
        return [
            each.name
            for each in self._table.schema
            if is_usable(each.type) and not each.name.startswith(PANDAS_INDEX) and not _SCORE.fullmatch(each.name)
        ]

    @property
    def scores(self) -> Sequence[str]:
        names = self._table.schema.names
        lists = [each.name for each in self._table.schema if _is_list(each.type)]
        return [kind for kind in SCORES if kind in lists or f"{kind}_0" in names]

    def read(self, columns: Sequence[str], scores: str | None) -> Content:
        try:
            return Content({name: self._read(name) for name in columns}, self._scores(scores) if scores else None)
        except pa.ArrowException as error:
            raise ArtifactError(f"{self.where} cannot be read: {str(error).splitlines()[0]}") from None

    def _read(self, name: str) -> Column | str:
        where = f'{self.where}: column "{name}"'
        column = to_column(self._table[name], where, True) if name in COMPLETE else to_slice(self._table[name])
        return unpack(column, where) if name == ID and isinstance(column, Coded) else column

    def _scores(self, kind: str) -> Any:
        if kind in self._table.schema.names:
            return score_rows(self._table[kind], f'{self.where}: column "{kind}"')
        found = [name for name in self._table.schema.names if (match := _SCORE.fullmatch(name)) and match[1] == kind]
        expected = [f"{kind}_{place}" for place in range(len(found))]
        if set(found) != set(expected):
            missing = min(set(expected) - set(found))
            raise ArtifactError(f"{self.where} has {len(found):,} columns of {kind} without {missing}. Number from 0.")
        return np.column_stack([to_numpy(self._table[name].cast(pa.float64())) for name in expected])


def _to_table(frame: Any, where: str) -> pa.Table:
    try:
        if hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__"):
            table = pa.table(frame)
        else:
            from pyarrow.interchange import from_dataframe

            table = from_dataframe(frame)
        return table.cast(pa.schema([pa.field(each.name, _plain(each.type)) for each in table.schema]))
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        raise ArtifactError(f"{where} cannot be read as a data frame: {str(error).splitlines()[0]}") from None


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type that the files have: categories of numbers are numbers, and every text is a string."""
    if pa.types.is_dictionary(kind):
        inner = _plain(kind.value_type)
        return pa.dictionary(pa.int32(), pa.large_string()) if is_text(inner) else inner
    if pa.types.is_string_view(kind):
        return pa.large_string()
    return kind


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))
