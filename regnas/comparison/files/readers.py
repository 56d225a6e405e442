"""The table of prediction file formats, by the suffix of the file."""

from __future__ import annotations

from typing import Any

from regnas.comparison.files.columns import PredictionFile
from regnas.components.registry import Registry


def _check(reader: Any) -> None:
    if not callable(reader):
        raise ValueError(f"must be a class that takes a path, got {reader!r}")


# Each reader is imported on first use: Parquet needs pyarrow, which only an extra installs.
READERS: Registry[type[PredictionFile]] = Registry(
    "reader of prediction files",
    "regnas.readers",
    {
        "npz": "regnas.comparison.files.npz:NpzFile",
        "csv": "regnas.comparison.files.csv:CsvFile",
        "parquet": "regnas.comparison.files.parquet:ParquetFile",
        "jsonl": "regnas.comparison.files.json_lines:JsonLinesFile",
        "ndjson": "regnas.comparison.files.json_lines:JsonLinesFile",
    },
    _check,
)
