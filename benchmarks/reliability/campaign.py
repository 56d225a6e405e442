"""What all campaigns share: numbered tries that are seeded, resumable, bounded in time and counted into a JSON file.

A campaign makes one try per number. Everything random in a try comes from a generator that is seeded with
(seed, campaign, number), so that a failure can be repeated with ``--only NUMBER``, and a campaign that was stopped
continues with the next number.
"""

from __future__ import annotations

import json
import platform
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from regnas.runtime.files import write_json

FAILURES_KEPT = 50  # with their details; all of them are counted
SECONDS_BETWEEN_RECORDS = 10.0


@dataclass(frozen=True)
class Outcome:
    """What a try did, and what went wrong.

    Args:
        kind: what was attacked, for the counts: "train, parent", "predictions.csv".
        problem: what a user would complain about, with what is needed to understand it; empty if all is well.
        count: how many attacks the try made, for example kills.
        by_kind: the attacks by kind, if a try makes attacks of several kinds; a problem is counted for ``kind``.
    """

    kind: str
    problem: str = ""
    count: int = 1
    by_kind: Mapping[str, int] = field(default_factory=dict)


Attempt = Callable[[int, np.random.Generator], Outcome]


@dataclass(frozen=True)
class Campaign:
    """A kind of attack.

    Args:
        name: the name on the command line and of the JSON file.
        goal: the number of attacks to make without a failure.
        begin: a context manager that prepares what all tries share in a folder, and yields the function of one try.
        describe: one line about what a try does and when it fails.
    """

    name: str
    goal: int
    begin: Callable[[Path], AbstractContextManager[Attempt]]
    describe: str


@dataclass
class Record:
    """The counts so far, as they are in the JSON file."""

    campaign: str
    describe: str
    seed: int
    goal: int = 0
    commits: list[str] = field(default_factory=list)
    machine: str = ""
    next_try: int = 0
    attacks: int = 0
    failures: int = 0
    seconds: float = 0.0
    kinds: dict[str, dict[str, int]] = field(default_factory=dict)
    failed: list[dict[str, Any]] = field(default_factory=list)

    def add(self, number: int, outcome: Outcome) -> None:
        self.next_try = number + 1
        self.attacks += outcome.count
        for kind, count in (outcome.by_kind or {outcome.kind: outcome.count}).items():
            self.kinds.setdefault(kind, {"attacks": 0, "failures": 0})["attacks"] += count
        if outcome.problem:
            self.failures += 1
            self.kinds.setdefault(outcome.kind, {"attacks": 0, "failures": 0})["failures"] += 1
            if len(self.failed) < FAILURES_KEPT:
                self.failed.append({"try": number, "kind": outcome.kind, "problem": outcome.problem})

    def write(self, path: Path) -> None:
        write_json(path, {**vars(self), "seconds": round(self.seconds, 1), "kinds": dict(sorted(self.kinds.items()))})


def generator_of(campaign: str, seed: int, number: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(campaign.encode()), number])


def run_campaign(
    campaign: Campaign,
    out: Path | None = None,
    *,
    attacks: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    only: int | None = None,
    show: Callable[[str], object] = lambda line: None,
) -> Record:
    """Attack until the number of attacks or the time is reached, and keep the counts in ``out``.

    Args:
        campaign: what to do.
        out: a JSON file; if it exists, its counts are continued.
        attacks: how many attacks to reach; default: the goal of the campaign.
        seconds: end after the try in which this time has passed.
        seed: of everything random.
        only: make this one try and record nothing.
        show: called with a line about each failure, and about the progress.
    """
    record = _continue(campaign, out, seed)
    goal = campaign.goal if attacks is None else attacks
    began = reported = time.monotonic()
    before = record.seconds
    with tempfile.TemporaryDirectory(prefix="regnas-") as folder, campaign.begin(Path(folder)) as attempt:
        for number in _numbers(record, goal, only):
            outcome = attempt(number, generator_of(campaign.name, seed, number))
            if outcome.problem:
                show(f"{campaign.name} {number}, {outcome.kind}: {outcome.problem}")
            record.add(number, outcome)
            now = time.monotonic()
            record.seconds = before + now - began
            if now - reported > SECONDS_BETWEEN_RECORDS:
                reported = now
                show(f"{campaign.name}: {record.attacks:,} of {goal:,} attacks, {record.failures:,} failures")
                _write(record, out, only)
            if seconds is not None and now - began > seconds:
                break
    _write(record, out, only)
    return record


def _numbers(record: Record, goal: int, only: int | None) -> Iterator[int]:
    if only is not None:
        yield only
        return
    while record.attacks < goal:
        yield record.next_try


def _write(record: Record, out: Path | None, only: int | None) -> None:
    if out is not None and only is None:
        record.write(out)


def _continue(campaign: Campaign, out: Path | None, seed: int) -> Record:
    commit = _commit()
    if out is not None and out.exists():
        record = Record(**json.loads(out.read_text(encoding="utf-8")))
        if (record.campaign, record.seed) != (campaign.name, seed):
            raise SystemExit(f"{out} has campaign {record.campaign} with seed {record.seed}. Choose another file.")
    else:
        record = Record(campaign.name, campaign.describe, seed, machine=f"{platform.platform()}, {platform.machine()}")
    record.goal = campaign.goal
    if commit not in record.commits:
        record.commits.append(commit)
    return record


def _commit() -> str:
    """Return the commit that is attacked, with a plus sign if the tree has changes."""
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
    found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"
