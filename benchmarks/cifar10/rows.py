"""Read the rows that the study recorded: one per method, with the families of its seeds."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.errors import ArtifactError
from regnas.flips import Predictions, align, load_predictions, shared_groups
from regnas.runtime.files import read_json, require_keys

SHARED_KEYS = ("row", "title", "group", "members", "settings")  # the same in all seeds of a row
FAMILY_KEYS = ("seed", "macs", "architectures", "training_macs", "search_macs", "seconds")


@dataclass(frozen=True, eq=False)
class Family:
    """The networks of one seed, from the smallest to the largest.

    macs, architectures: those of each of the M members
    search, report: [M, N] for each split, whether the member is correct on the sample
    """

    seed: int
    macs: tuple[int, ...]
    architectures: tuple[str, ...]
    training_macs: int
    search_macs: int
    seconds: float
    search: NDArray[np.bool_]
    report: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Row:
    """A method, or a method at one of its settings, such as ``interpolation@0.25``, with its families."""

    name: str
    title: str
    group: str
    members: tuple[str, ...]
    settings: Mapping[str, Any]
    families: tuple[Family, ...]

    @property
    def method(self) -> str:
        return self.name.partition("@")[0]

    @property
    def setting(self) -> str:
        """The part of the name after the @, or an empty text."""
        return self.name.partition("@")[2]

    @property
    def place(self) -> tuple[float, str]:
        """The place of the row among the settings of its method: numbers by size, then texts by name."""
        try:
            return float(self.setting), ""
        except ValueError:
            return float("inf"), self.setting

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(family.seed for family in self.families)

    @property
    def training_macs(self) -> float:
        return sum(family.training_macs for family in self.families) / len(self.families)

    @property
    def search_macs(self) -> float:
        return sum(family.search_macs for family in self.families) / len(self.families)


@dataclass(frozen=True, eq=False)
class Recorded:
    """All rows on the same N samples of the report split; ``clusters`` [N] if samples depend on one another."""

    rows: tuple[Row, ...]
    clusters: NDArray[np.int64] | None

    def of_group(self, group: str) -> list[Row]:
        return [row for row in self.rows if row.group == group]


def pairs_of(members: int) -> list[tuple[int, int]]:
    """Return every pair of a smaller and a larger member, neighbors first: (0, 1), (1, 2), (0, 2)."""
    return [(low, low + distance) for distance in range(1, members) for low in range(members - distance)]


def read_rows(runs: Path) -> Recorded:
    """Read every finished family below ``runs``/rows; one without row.json, which is written last, is unfinished."""
    facts: dict[str, list[tuple[Path, Mapping[str, Any]]]] = defaultdict(list)
    for path in sorted(runs.glob("rows/*/seed-*/row.json")):
        table = _checked(read_json(path), path)
        facts[table["row"]].append((path.parent, table))
    if not facts:
        raise ArtifactError(f"{runs / 'rows'} holds no row.json: run benchmarks/cifar10/study.py first")
    reader = _Reader()
    rows = tuple(_row(sorted(found, key=lambda one: int(one[1]["seed"])), reader) for found in facts.values())
    assert reader.first is not None
    return Recorded(rows, reader.first.groups)


class _Reader:
    """Reads predictions and brings them into the order of the first ones."""

    def __init__(self) -> None:
        self.first: Predictions | None = None

    def report(self, folder: Path, members: Sequence[str]) -> NDArray[np.bool_]:
        loaded = list(_loaded(folder, members))
        self.first = self.first or loaded[0]
        try:
            aligned = align([self.first, *loaded])
            shared_groups(aligned)
        except ArtifactError as error:
            raise ArtifactError(f"{folder}: {error}") from None
        return np.stack([predictions.correct for predictions in aligned[1:]])


def _loaded(folder: Path, members: Sequence[str]) -> Iterator[Predictions]:
    for member in members:
        yield load_predictions(folder / f"{member}.npz").changed(logits=None)


def _row(found: Sequence[tuple[Path, Mapping[str, Any]]], reader: _Reader) -> Row:
    folder, first = found[0]
    for other, table in found[1:]:
        differing = [key for key in SHARED_KEYS if table[key] != first[key]]
        if differing:
            raise ArtifactError(
                f"{other / 'row.json'}: {differing[0]} is {table[differing[0]]!r}, but {first[differing[0]]!r} in "
                f"{folder.name}; the seeds of a row differ in the seed alone, so record them again"
            )
    return Row(
        name=first["row"],
        title=first["title"],
        group=first["group"],
        members=tuple(first["members"]),
        settings=first["settings"],
        families=tuple(_family(folder, table, reader) for folder, table in found),
    )


def _family(folder: Path, table: Mapping[str, Any], reader: _Reader) -> Family:
    members = table["members"]
    search = align(list(_loaded(folder / "search", members)))
    return Family(
        seed=table["seed"],
        macs=tuple(table["macs"]),
        architectures=tuple(str(each) for each in table["architectures"]),
        training_macs=table["training_macs"],
        search_macs=table["search_macs"],
        seconds=table["seconds"],
        search=np.stack([predictions.correct for predictions in search]),
        report=reader.report(folder / "report", members),
    )


def _checked(table: Any, path: Path) -> Mapping[str, Any]:
    if not isinstance(table, dict):
        raise ArtifactError(f"{path} holds no table of facts but {type(table).__name__}: record the row again")
    require_keys(table, SHARED_KEYS + FAMILY_KEYS, path)
    try:
        json.dumps(table, allow_nan=False)  # it is published, and JSON has no such number
    except ValueError:
        raise ArtifactError(f"{path} holds a number that is infinite or none: record the row again") from None
    if (str(table["row"]), f"seed-{table['seed']}") != (path.parent.parent.name, path.parent.name):
        raise ArtifactError(f"{path} says row {table['row']!r} and seed {table['seed']!r}, against its own folder")
    members = table["members"]
    if len(members) < 2 or len(set(members)) < len(members):
        raise ArtifactError(f"{path}: members must be two or more different names, not {members}")
    for member in members:
        if not isinstance(member, str) or PurePath(member).name != member or member.startswith("."):
            raise ArtifactError(f"{path}: member {member!r} cannot be the name of a file")
    for key in ("macs", "architectures"):
        if len(table[key]) != len(members):
            raise ArtifactError(f"{path}: {len(table[key])} {key} for {len(members)} members")
    return table
