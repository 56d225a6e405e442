"""``kill -9`` of the parent, of workers and of both, at every file operation and at random times.

A try starts a command, kills it a few times, each time after it has been started again, and lets it finish. It fails
if the result differs in any byte from that of an unbroken run, if a process outlives its parent, or if a file is left
over. Under torchrun, the victims are torchrun, one of its two processes, or all of them.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.reliability.campaign import Attempt, Campaign, Outcome
from benchmarks.reliability.scenarios import SCENARIOS, Command, Scenario, Stage, Unbroken, excerpt, last_problem
from benchmarks.reliability.targets import ALL, BOTH, LAUNCHER, PARENT, RANKS, WORKERS
from benchmarks.reliability.victim import Plan

KILLS = 12  # of one try
AT_RANDOM_TIMES = 0.4  # the share of the kills
ATTACKED = ("run", "update", "run, workers", "polish", "update, workers", "export")
TORCHRUN = "run, torchrun"
TORCHRUN_EVERY = 15  # tries: torchrun and its processes import torch three times, in about 10 CPU seconds


@contextmanager
def begin(folder: Path, only: Sequence[str] = (), kills: int = KILLS) -> Iterator[Attempt]:
    """Prepare the attack of all commands, or of some, with so many kills per try."""
    stage = Stage(folder, Command)

    def attempt(number: int, random: np.random.Generator) -> Outcome:
        scenario, turn = _chosen(number, only)

        def attack(unbroken: Unbroken, folder: Path, kinds: Counter[str]) -> str:
            return _attack(scenario, unbroken, folder, unbroken.places(turn, kills), random, kinds)

        return stage.try_out(scenario, number, attack)

    yield attempt


def _chosen(number: int, only: Sequence[str]) -> tuple[Scenario, int]:
    """Return what try ``number`` attacks, and which of the tries on it this one is."""
    if not only and number % TORCHRUN_EVERY == TORCHRUN_EVERY - 1:
        return SCENARIOS[TORCHRUN], number // TORCHRUN_EVERY
    attacked = only or ATTACKED
    return SCENARIOS[attacked[number % len(attacked)]], number // len(attacked)


def _attack(
    scenario: Scenario,
    unbroken: Unbroken,
    folder: Path,
    places: Sequence[int],
    random: np.random.Generator,
    kinds: Counter[str],
) -> str:
    """Kill and continue; return what is wrong in the end."""
    previous = 0
    for place in places:
        who = str(random.choice(_victims(scenario)))
        moment = unbroken.moment(previous, place, random.random() < AT_RANDOM_TIMES, random)
        command = Command(scenario, folder, Plan(str(folder), site=moment.site, nth=moment.nth, who=who))
        if not moment.site:
            command.wait_for(moment)
            if not command.ended:
                command.target.send(who, signal.SIGKILL)
        outcome = command.outcome
        if orphans := command.orphans():
            return f"killed {who} {moment}: processes are left: {orphans}"
        if outcome.code not in _codes(who) or "internal error" in outcome.stderr:
            return f"killed {who} {moment}: exit code {outcome.code}: {excerpt(outcome.stderr)}"
        if outcome.code:
            kinds[f"{scenario.name}: {command.stage}, {who}"] += 1
            previous = place
    return last_problem(Command(scenario, folder, Plan(str(folder))), unbroken, folder)


def _victims(scenario: Scenario) -> list[str]:
    if scenario.processes > 1:
        return [LAUNCHER, *RANKS, ALL]
    return [PARENT, WORKERS, BOTH] if scenario.workers > 1 else [PARENT]


def _codes(who: str) -> tuple[int, ...]:
    """Return the exit codes of a command that was attacked; 0 if the victim had nothing more to do."""
    if who in RANKS:
        return (0, 1)  # of torchrun
    return (0, 5) if who == WORKERS else (0, -signal.SIGKILL)


CAMPAIGN = Campaign(
    name="kills",
    goal=500,
    begin=begin,
    describe=(
        "kill -9 of the parent, of workers or of both, and of torchrun, one of its processes or all of them, at file "
        "operations and at random times, several per run; fails if the continued command leaves other bytes, a process "
        "or a file that an unbroken one does not leave"
    ),
)
