"""SIGINT and SIGTERM, once and twice, to the parent and to all processes, at file operations and at random times.

A try starts a command, sends it a signal, continues with exactly the command that was printed, and so on a few times.
It fails if an exit code is not the documented one, if the command does not stop soon, if it prints anything that looks
like a bug, if the work cannot be continued with what is printed, or if the result differs from that of an unbroken
command in any byte. A second signal ends a command at once; then the original command must continue.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.processes import Outcome as Ended
from benchmarks.reliability.campaign import Attempt, Campaign, Outcome
from benchmarks.reliability.scenarios import (
    RUN,
    SCENARIOS,
    Command,
    Scenario,
    Stage,
    Unbroken,
    contents,
    last_problem,
    printed_command,
)
from benchmarks.reliability.targets import BOTH, PARENT
from benchmarks.reliability.victim import Plan

SIGNALS = 5  # of one try
AT_RANDOM_TIMES = 0.5  # the share of the signals
TWICE = 0.4  # the share that comes twice
LONGEST_PAUSE = 0.1  # seconds between two signals
SECONDS_TO_STOP = 30.0
BUGS = ("Traceback", "Exception ignored", "internal error", "Aborted", "Warning", "leaked")
CONTINUED = ("run", "update", "polish", "export")  # what prints how to continue; the others begin again
ATTACKED = (
    "run",
    "update",
    "run, workers",
    "polish",
    "compare",
    "update, workers",
    "export",
    "predict",
    "run, fresh",
    "gallery",
    "export of an update",
    "verify",
    "compare, fresh",
)


@contextmanager
def begin(folder: Path, only: Sequence[str] = (), signals: int = SIGNALS) -> Iterator[Attempt]:
    """Prepare the attack of all commands, or of some, with so many signals in a try."""
    stage = Stage(folder, Command)

    def attempt(number: int, random: np.random.Generator) -> Outcome:
        attacked = only or ATTACKED
        scenario, turn = SCENARIOS[attacked[number % len(attacked)]], number // len(attacked)

        def attack(unbroken: Unbroken, folder: Path, kinds: Counter[str]) -> str:
            return _attack(scenario, unbroken, folder, unbroken.places(turn, signals), random, kinds)

        return stage.try_out(scenario, number, attack)

    yield attempt


def _attack(
    scenario: Scenario,
    unbroken: Unbroken,
    folder: Path,
    places: Sequence[int],
    random: np.random.Generator,
    kinds: Counter[str],
) -> str:
    """Interrupt and continue; return what is wrong in the end."""
    sent = folder.parent / f"{folder.name}.sent"
    arguments: tuple[str, ...] = ()
    previous = 0
    for place in places:
        number = signal.Signals(random.choice([signal.SIGINT, signal.SIGTERM]))
        twice, pause = bool(random.random() < TWICE), random.uniform(0, LONGEST_PAUSE)
        who = str(random.choice([PARENT, BOTH])) if scenario.workers > 1 else PARENT
        moment = unbroken.moment(previous, place, scenario.fresh or random.random() < AT_RANDOM_TIMES, random)
        plan = Plan(str(folder), "", moment.site, moment.nth, number, who, twice, str(sent))
        before = contents(folder)
        command = Command(scenario, folder, plan, arguments)
        if not moment.site:
            command.wait_for(moment)
            if not command.ended:
                sent.touch()
                command.target.send(who, number)
                if twice:
                    time.sleep(pause)
                    command.target.send(who, number)
        outcome = command.outcome
        needed = time.time() - sent.stat().st_mtime if sent.exists() else 0.0
        sent.unlink(missing_ok=True)
        what = f"{number.name}{' twice' if twice else ''}{' to the group' if who == BOTH else ''}"
        if orphans := command.orphans():
            return f"{what} {moment}: processes are left: {orphans}"
        changed = contents(folder) != before
        continues = scenario.arguments[0] in CONTINUED and (folder / RUN / "run.json").exists()
        if problem := _problem_of(outcome, number, twice, changed, continues) or _too_long(needed):
            return f"{what} {moment}: {problem}: {outcome.stderr[-800:]}"
        if outcome.code:
            kinds[f"{scenario.name}: {command.stage}, {what}"] += 1
            previous = place
            arguments = printed_command(outcome) or arguments
    return last_problem(Command(scenario, folder, Plan(str(folder)), arguments), unbroken, folder)


def _problem_of(outcome: Ended, number: signal.Signals, twice: bool, changed: bool, continues: bool) -> str:
    """Say what is wrong with the end of an interrupted command; empty if nothing is."""
    if bugs := [word for word in BUGS if word in outcome.stderr]:
        return f"printed {', '.join(bugs)}"
    if outcome.code == 0:  # it was done before it could stop
        return ""
    if outcome.code != 128 + number:
        return f"exit code {outcome.code}"
    said = [line for line in outcome.stderr.splitlines() if line.startswith("regnas: ")]
    if len(said) != 1 or not said[0].startswith(f"regnas: interrupted by {number.name}"):
        return f"{len(said)} messages"
    if said[0].endswith("nothing was written") and changed:
        return "something was written"
    changed = changed or said[0].endswith("is kept")
    if continues and changed and not twice and not printed_command(outcome):
        return "prints no command that continues the run"
    return ""


def _too_long(seconds: float) -> str:
    return f"took {seconds:.0f} s to stop" if seconds > SECONDS_TO_STOP else ""


CAMPAIGN = Campaign(
    name="signals",
    goal=100,
    begin=begin,
    describe=(
        "SIGINT or SIGTERM, once or twice, to the parent or to all processes of run, update, polish, export, predict, "
        "gallery, compare and verify, at file operations and at random times; fails unless the command ends within "
        f"{SECONDS_TO_STOP:.0f} s with exit code 130 or 143 and one line, and the printed command leaves the bytes of "
        "an unbroken one"
    ),
)
