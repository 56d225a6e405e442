"""Predictions as JSON lines: one object for each sample."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import json as arrow_json

from regnas.comparison.files.arrow import check_file_size, opened, score_rows, texts, to_column, to_numpy, to_slice
from regnas.comparison.files.columns import COMPLETE, ID, SCORES, Column, Content, refuse_missing
from regnas.errors import ArtifactError

LONGEST_LINE = 2**24


class JsonLinesFile:
    """Columns and their types are those of the first object; keys that only later ones have are not read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        check_file_size(path)
        self._first = _first_object(path)

    @property
    def columns(self) -> Sequence[str]:
        for name in COMPLETE:
            if self._first.get(name, "") is None:
                raise ArtifactError(f'{self.path}: key "{name}" has no value in the first line')
        return [name for name, value in self._first.items() if _type_of(value) is not None]

    @property
    def scores(self) -> Sequence[str]:
        return [name for name in SCORES if isinstance(self._first.get(name), list)]

    def read(self, columns: Sequence[str], scores: str | None) -> Content:
        fields = [pa.field(name, _type_of(self._first[name])) for name in columns]
        if scores:
            fields.append(pa.field(scores, pa.list_(pa.float64())))
        with opened(self.path) as source:
            table = arrow_json.read_json(
                source,
                arrow_json.ReadOptions(block_size=LONGEST_LINE),
                arrow_json.ParseOptions(explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore"),
            )
            read: dict[str, Column | str] = {}
            for name in columns:
                column, where = table[name], f'{self.path}: key "{name}"'
                if name == ID and pa.types.is_string(column.type):
                    refuse_missing(to_numpy(column.is_null()), where)
                    read[name] = texts(column, where)
                else:
                    read[name] = to_column(column, where, True) if name in COMPLETE else to_slice(column)
            rows = score_rows(table[scores], f'{self.path}: key "{scores}"') if scores else None
            return Content(read, rows)


def _type_of(value: Any) -> pa.DataType | None:
    if isinstance(value, bool):
        return pa.bool_()
    return {int: pa.int64(), float: pa.float64(), str: pa.string()}.get(type(value))


def _first_object(path: Path) -> dict[str, Any]:
    try:
        with path.open(encoding="utf-8-sig") as source:
            value = json.loads(source.readline(LONGEST_LINE))
    except (OSError, ValueError, RecursionError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ArtifactError(f"{path} is damaged or not JSON lines, one object for each sample: {reason}") from None
    if not isinstance(value, dict):
        raise ArtifactError(
            f"{path} holds a {type(value).__name__} in its first line, expected an object like "
            '{"id": "a", "target": 0, "predicted": 1}'
        )
    return value
