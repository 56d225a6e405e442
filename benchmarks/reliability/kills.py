"""``kill -9`` of the parent, of workers and of both, at every file operation and at random times.

A try starts a command, kills it a few times, each time after it has been started again, and lets it finish. It fails
if the result differs in any byte from that of an unbroken run, if a process outlives its parent, or if a file is left
over.
"""

from __future__ import annotations

import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.reliability.campaign import Attempt, Campaign, Outcome
from benchmarks.reliability.scenarios import (
    SCENARIOS,
    Command,
    Scenario,
    Stage,
    Unbroken,
    contents,
    differences,
    stage_of,
)
from benchmarks.reliability.victim import BOTH, PARENT, WORKERS, Plan, send

KILLS = 6  # of one try
AT_RANDOM_TIMES = 0.25  # the share of the kills
ATTACKED = ("run", "update", "run, workers", "polish", "update, workers", "export")


@contextmanager
def begin(folder: Path) -> Iterator[Attempt]:
    stage = Stage(folder, Command)

    def attempt(number: int, random: np.random.Generator) -> Outcome:
        scenario = SCENARIOS[ATTACKED[number % len(ATTACKED)]]
        unbroken = stage.unbroken(scenario)
        tried = stage.prepare(scenario, f"try {number}")
        kinds: Counter[str] = Counter()
        try:
            problem = _attack(scenario, unbroken, tried, number // len(ATTACKED), random, kinds)
        finally:
            shutil.rmtree(tried)
        return Outcome(scenario.name, problem, kinds.total(), dict(kinds))

    yield attempt


def _attack(
    scenario: Scenario, unbroken: Unbroken, folder: Path, turn: int, random: np.random.Generator, kinds: Counter[str]
) -> str:
    """Kill and continue; return what is wrong in the end."""
    previous = 0
    for place in _places(unbroken, turn):
        who = str(random.choice([PARENT, WORKERS, BOTH])) if scenario.workers > 1 else PARENT
        at_a_time = random.random() < AT_RANDOM_TIMES
        site = unbroken.sites[place]
        nth = 1 if at_a_time else unbroken.sites[previous : place + 1].count(site)
        command = Command(scenario, folder, Plan(str(folder), site="" if at_a_time else site, nth=nth, who=who))
        if at_a_time:
            _wait(command, random.uniform(0, unbroken.seconds))
            if not command.ended:
                send(command.session, who, signal.SIGKILL)
        outcome = command.outcome
        moment = "at a random time" if at_a_time else f"at {site}, time {nth}"
        if orphans := command.orphans():
            return f"killed {who} {moment}: processes are left: {orphans}"
        if outcome.code not in ((0, 5) if who == WORKERS else (0, -signal.SIGKILL)):
            return f"killed {who} {moment}: exit code {outcome.code}: {outcome.stderr[-600:]}"
        if outcome.code:
            kinds[f"{stage_of(scenario, folder)}, {who}"] += 1
            previous = place
    last = Command(scenario, folder, Plan(str(folder)))
    if last.outcome.code:
        return f"continued: exit code {last.outcome.code}: {last.outcome.stderr[-600:]}"
    if orphans := last.orphans():
        return f"continued: processes are left: {orphans}"
    return differences(unbroken.contents, contents(folder))


def _places(unbroken: Unbroken, turn: int) -> list[int]:
    """Return the file operations of one try in order; the tries together go through all of them."""
    order = np.random.default_rng(0).permutation(len(unbroken.sites))
    return sorted(int(order[(turn * KILLS + index) % len(order)]) for index in range(KILLS))


def _wait(command: Command, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not command.ended and time.monotonic() < until:
        time.sleep(0.005)


CAMPAIGN = Campaign(
    name="kills",
    goal=500,
    begin=begin,
    describe=(
        "kill -9 of the parent, of workers or of both, at file operations and at random times, several per run; fails "
        "if the continued command leaves other bytes, a process or a file that an unbroken one does not leave"
    ),
)
