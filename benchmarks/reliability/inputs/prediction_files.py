"""Prediction files of every format."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reliability import artifacts
from benchmarks.reliability.grammars import CSV, JSON
from benchmarks.reliability.inputs.target import Damage, Target, text_ways
from benchmarks.reliability.mutations import Random, json_bytes, mutate_bytes, mutate_value, pick, rezipped, strange


def prediction_files(folder: Path) -> Iterable[Target]:
    from regnas.comparison.comparison import compare_joined
    from regnas.comparison.inputs import join_models
    from regnas.report.comparison import tables

    first, second = artifacts.predictions(0), artifacts.predictions(1)
    (folder / "old.csv").write_bytes(_csv(first))
    (folder / "old.npz").write_bytes(_npz(artifacts.arrays(0)))  # with numbers for classes

    def read(old: Path, path: Path) -> None:
        joined = join_models([str(old), str(path)])
        if path.stat().st_size % 16 == 0:  # the intervals take long
            result = compare_joined(joined)
            tables.terminal(result, 100)
            result.to_json(True)
            result.to_markdown()

    def target(suffix: str, good: bytes, *ways: Damage) -> Target:
        path = folder / f"new.{suffix}"
        old = folder / ("old.npz" if suffix == "npz" else "old.csv")
        command = ("compare", old, path, "--json")
        return Target(f"predictions.{suffix}", path, good, ways, partial(read, old, path), command)

    def cells(random: Random) -> bytes:
        rows = [line.split(b",") for line in _csv(second).splitlines()]
        for _ in range(int(random.integers(1, 4))):
            row = pick(random, rows)
            row[int(random.integers(len(row)))] = strange(random).encode()
        return b"\n".join(b",".join(row) for row in rows)

    lines = artifacts.json_lines(second)
    text = b"\n".join(json.dumps(line).encode() for line in lines)
    yield target("csv", _csv(second), *text_ways(_csv(second), _csv(first), CSV), cells)
    yield target(
        "jsonl",
        text,
        *text_ways(text, _csv(first), JSON),
        lambda random: b"\n".join(
            json_bytes(mutate_value(line, random) if random.random() < 0.3 else line, random) for line in lines
        ),
    )
    plain, other = _npz(artifacts.arrays(1)), _npz(artifacts.arrays(0))
    yield target(
        "npz",
        plain,
        lambda random: mutate_bytes(plain, random, other),
        lambda random: rezipped(plain, random),
        lambda random: _npz(_other_arrays(artifacts.arrays(1), random)),
    )
    table = _parquet(second)
    yield target(
        "parquet",
        table,
        lambda random: mutate_bytes(table, random, _parquet(first)),
        lambda random: _parquet(_other_columns(second, random)),
    )


def _csv(columns: Mapping[str, list[object]]) -> bytes:
    rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    return "\n".join(rows).encode() + b"\n"


def _npz(content: Mapping[str, Any]) -> bytes:
    sink = io.BytesIO()
    np.savez(sink, **content)
    return sink.getvalue()


def _other_arrays(content: dict[str, Any], random: Random) -> dict[str, Any]:
    held = dict(content)
    for name in map(str, random.permutation(list(content))[: int(random.integers(1, 3))]):
        array = content[name]
        changes: tuple[Callable[[], Any], ...] = (
            lambda array=array: array[:-1],
            lambda array=array: array[None],
            lambda array=array: array.reshape(-1, 1),
            lambda array=array: array.astype(object),
            lambda array=array: np.char.encode(array.astype("U"), "utf-8"),
            lambda array=array: np.zeros(0, array.dtype),
            lambda array=array: np.zeros(
                array.shape, pick(random, ("f2", "f8", "i1", "u8", "?", "c16", "M8[s]", "V3", ">i4"))
            ),
            lambda array=array: np.full(array.shape, pick(random, (np.nan, np.inf, -1, 2**62, -(2**63), 1e300))),
            lambda array=array: np.full(array.shape, pick(random, ("", "\x1b[2J", "\x00", "a" * 5000, "é"))),
            lambda array=array: np.array(5),
            lambda array=array: np.zeros((len(array), 2000)),
        )
        held[name] = pick(random, changes)()
        if random.random() < 0.2:
            held[pick(random, ("group", "probabilities", "x", "model", "\x1b[2J"))] = held.pop(name)
    return held


def _parquet(columns: Mapping[str, Any]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    sink = io.BytesIO()
    parquet.write_table(pa.table(dict(columns)), sink)
    return sink.getvalue()


def _other_columns(columns: Mapping[str, list[object]], random: Random) -> dict[str, Any]:
    import pyarrow as pa

    held: dict[str, Any] = dict(columns)
    count = len(held["id"])
    name = pick(random, list(held))
    held[name] = pick(
        random,
        (
            [None] * count,
            [*held[name][:-1], None],
            [[1.0, 2.0]] * count,
            [{"a": 1}] * count,
            [b"\xff"] * count,
            [float("nan")] * count,
            [2**63 - 1] * count,
            pa.array([2**64 - 1] * count, pa.uint64()),
            pa.array([0] * count, pa.timestamp("ns")),
            pa.array(["1.5"] * count).cast(pa.decimal128(9, 2)),
            pa.array(["a"] * count).dictionary_encode(),
            [True] * count,
            ["\x1b[2J" * 2000] * count,
            [[[1]]] * count,
            pa.array([[1.0, 2.0, 3.0]] * count, pa.list_(pa.float32())),
            pa.nulls(count),
        ),
    )
    if random.random() < 0.3:
        held[pick(random, ("logits", "probabilities", "group", "logits_0", "logits_99999999", "\x1b[2J"))] = held.pop(
            name
        )
    return held
