"""Prediction files in every format, from plain lists."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regnas.comparison.joining import Joined

FORMATS = ("npz", "csv", "parquet", "jsonl", "ndjson")


def write(path: Path, **columns: list[Any]) -> Path:
    """``columns`` by name; a list of lists is written as scores, which in CSV are one column for each class."""
    names = list(columns)
    if path.suffix == ".npz":
        np.savez(path, **{name: np.array(values) for name, values in columns.items()})
    elif path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix == ".csv":
        flat: dict[str, list[Any]] = {}
        for name, values in columns.items():
            if values and isinstance(values[0], list):
                flat |= {f"{name}_{place}": [row[place] for row in values] for place in range(len(values[0]))}
            else:
                flat[name] = values
        with path.open("w", newline="", encoding="utf-8") as sink:
            writer = csv.writer(sink)
            writer.writerow(flat)
            writer.writerows(zip(*flat.values(), strict=True))
    else:
        rows = zip(*columns.values(), strict=True)
        path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    return path


def joined(*patterns: str, groups: list[int] | None = None, targets: list[int] | None = None, **slices: Any) -> Joined:
    """``joined("110", "101")``: 1 for each sample on which the model is correct."""
    correct = np.array([[mark == "1" for mark in pattern] for pattern in patterns])
    samples = correct.shape[1]
    return Joined(
        models=tuple(f"model-{place}" for place in range(len(patterns))),
        correct=correct,
        targets=np.zeros(samples, dtype=np.int64) if targets is None else np.array(targets),
        classes=None,
        groups=None if groups is None else np.array(groups),
        ids=np.arange(samples),
        slices={name: np.array(values) for name, values in slices.items()},
        left_out={},
    )
