"""Predictions in a Parquet file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from regnas.comparison.files.arrow import is_text, is_usable, opened, score_rows, to_column, to_slice
from regnas.comparison.files.columns import (
    COMPLETE,
    ID,
    PANDAS_INDEX,
    SCORES,
    SIZE_LIMIT,
    Coded,
    Column,
    Content,
    check_names,
    unpack,
)
from regnas.errors import ArtifactError


class ParquetFile:
    """An opened Parquet file. Its sizes are checked from the metadata before anything is unpacked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with opened(path) as source:
            file = pq.ParquetFile(source)
            self._schema, self._metadata = file.schema_arrow, file.metadata
        check_names(self._schema.names, str(path))

    @property
    def columns(self) -> Sequence[str]:
        return [each.name for each in self._schema if is_usable(each.type) and not each.name.startswith(PANDAS_INDEX)]

    @property
    def scores(self) -> Sequence[str]:
        return [name for name in SCORES if name in self._schema.names and _is_list(self._schema.field(name).type)]

    def read(self, columns: Sequence[str], scores: str | None) -> Content:
        """Read these columns and scores."""
        wanted = [*columns, *([scores] if scores else [])]
        # Texts stay codes: a long text that repeats is stored once, and unpacked it could be of any size.
        coded = [name for name in columns if is_text(self._schema.field(name).type)]
        with opened(self.path) as source:
            self._check_size(wanted, scores is not None)
            table = pq.ParquetFile(source, read_dictionary=coded).read(wanted)
            read: dict[str, Column | str] = {}
            for name in columns:
                where = f'{self.path}: column "{name}"'
                column = to_column(table[name], where, True) if name in COMPLETE else to_slice(table[name])
                read[name] = unpack(column, where) if name == ID and isinstance(column, Coded) else column
            rows = score_rows(table[scores], f'{self.path}: column "{scores}"') if scores else None
            return Content(read, rows)

    def _check_size(self, names: Sequence[str], with_scores: bool) -> None:
        """Refuse columns that are too large, by the sizes in the metadata and by eight bytes per value.

        The metadata of a damaged file may state too few bytes. Columns are checked one by one only if necessary,
        because pyarrow 26 ends the whole process on damaged metadata of a column.
        """
        groups = [self._metadata.row_group(index) for index in range(self._metadata.num_row_groups)]
        size = sum(max(group.total_byte_size, 8 * group.num_rows * len(names)) for group in groups)
        if with_scores or size > SIZE_LIMIT:
            columns = [group.column(index) for group in groups for index in range(group.num_columns)]
            wanted = [column for column in columns if column.path_in_schema.split(".")[0] in names]
            size = sum(max(column.total_uncompressed_size, 8 * column.num_values) for column in wanted)
        if size > SIZE_LIMIT:
            raise ArtifactError(f"{self.path} would unpack to {size:,} bytes, over the limit of {SIZE_LIMIT:,}")


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))
