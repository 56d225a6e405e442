"""Configurations, and values that ``--set`` assigns."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.reliability.artifacts import Artifacts
from benchmarks.reliability.grammars import TOML, TOML_UPDATE
from benchmarks.reliability.inputs.target import Target, text_ways
from benchmarks.reliability.mutations import from_fragments, mutate_bytes, mutate_value, pick, strange, toml_bytes


def configurations(made: Artifacts, folder: Path) -> Iterable[Target]:
    from regnas.runs.config import load_config
    from regnas.runs.tables import change, load_table
    from regnas.updates.config import load_update

    contents = made.config.read_bytes(), made.update_config.read_bytes()
    for name, content, other, words, load in (
        ("run configuration", *contents, TOML, load_config),
        ("update configuration", *contents[::-1], TOML_UPDATE, load_update),
    ):
        path = folder / f"{name.replace(' ', '_')}.toml"
        table = tomllib.loads(content.decode())
        ways = (*text_ways(content, other, words), lambda random, table=table: toml_bytes(mutate_value(table, random)))
        yield Target(name, path, content, ways, partial(load, str(path)), ("validate", path))

    path = folder / "assignments.txt"

    def assign() -> None:
        table = load_table(str(made.config))[1]
        change(table, path.read_text(encoding="utf-8", errors="replace").split("\n"))

    lines = [f"{section}.{key}={json.dumps(value)}".encode() for section, key, value in _leaves(made.config)]
    ways = (
        lambda random: mutate_bytes(pick(random, lines), random, pick(random, lines)),
        lambda random: pick(random, lines).partition(b"=")[0] + b"=" + strange(random).encode(),
        partial(from_fragments, TOML),
    )
    yield Target("--set", path, lines[0], ways, assign)


def _leaves(config: Path) -> list[tuple[str, str, Any]]:
    table = tomllib.loads(config.read_text())
    return [(name, key, each) for name, part in table.items() if isinstance(part, dict) for key, each in part.items()]
