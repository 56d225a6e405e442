"""Several runs start on one empty database at the same moment, and several commands on one run folder.

Each of the runs must find what it finds alone. Of the commands on one folder, one works at a time; the others are
refused with exit code 2 and one line that names it, and the run ends with the bytes of an unbroken one.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reliability import postgresql
from benchmarks.reliability.campaign import Attempt, Campaign, Outcome
from benchmarks.reliability.scenarios import contents, differences
from benchmarks.reliability.searches import RUN, Search, Searches, label, recorded, without_own

DATABASE = "runs"
SEEDS = (3, 4)
MOST_RUNS = 8
REFUSED = re.compile(rf"regnas: {RUN} is in use by process (\d+) on \S+\. Wait for it, or choose another folder\.")
RESUME = ("run", RUN, "--resume")
ON_ONE_FOLDER = (
    (RESUME, RESUME),
    (("export", RUN), RESUME),
    (("polish", RUN), ("report", RUN)),
    (("search", RUN), ("export", RUN), RESUME),
    (RESUME, RESUME, ("report", RUN), ("polish", RUN)),
)


def start_at_once(flag: Path, commands: Sequence[tuple[Path, tuple[str, ...]]]) -> list[Search]:
    """Start commands, each in its folder; all begin when all are ready."""
    variables = {"PGPASSWORD": postgresql.PASSWORD}
    started = [Search(folder, *arguments, variables=variables, flag=flag) for folder, arguments in commands]
    for each in started:
        each.process.wait_for(Path(f"{flag}.{each.session}").exists)
    flag.touch()
    return started


class Runs:
    """Runs that share a database, with what each finds alone."""

    def __init__(self, folder: Path, server: postgresql.Server | None) -> None:
        self._folder = folder
        self._server = server
        self._alone = [Searches(folder / f"seed {seed}", seed) for seed in SEEDS]

    def attempt(self, number: int, random: np.random.Generator) -> Outcome:
        """Start runs on an empty database, and compare each with what it finds alone."""
        on_server = self._server is not None and number % 2 == 0
        kind = "runs, PostgreSQL" if on_server else "runs, SQLite"
        storage = f"sqlite:///../{number}.db"
        if on_server:
            self._server.create(DATABASE)
            storage = self._server.address(DATABASE, password="")
        seeds = random.integers(len(SEEDS), size=int(random.integers(2, MOST_RUNS + 1)))
        folders = [self._alone[seed].copy(f"try {number}, {place}", storage) for place, seed in enumerate(seeds)]
        started = start_at_once(self._folder / f"go {number}", [(each, ("search", RUN)) for each in folders])
        problems = [each.problem(0) for each in started]
        if not any(problems):
            problems = [
                self._wrong(self._alone[seed], folder, number, on_server)
                for seed, folder in zip(seeds, folders, strict=True)
            ]
        for folder in folders:
            shutil.rmtree(folder)
        return Outcome(kind, next(filter(None, problems), ""), len(folders))

    def _wrong(self, alone: Searches, folder: Path, number: int, on_server: bool) -> str:
        if problem := alone.export(folder, {"PGPASSWORD": postgresql.PASSWORD}):
            return problem
        if on_server:
            assert self._server is not None
            with self._server.connect(DATABASE) as connection:
                candidates = recorded(connection, label(folder))
        else:
            with closing(sqlite3.connect(self._folder / f"{number}.db")) as connection:
                candidates = recorded(connection, label(folder))
        if candidates != alone.candidates:
            return f"{len(candidates)} rows of candidates, or other ones, instead of {len(alone.candidates)}"
        return differences(without_own(alone.unbroken), without_own(contents(folder)))


class OneFolder:
    """Commands on one run folder."""

    def __init__(self, folder: Path) -> None:
        self._searches = Searches(folder / "one folder", polish=True)

    @cached_property
    def unbroken(self) -> dict[str, Any]:
        return self._finished(self._searches.copy("unbroken run"))

    def attempt(self, number: int, random: np.random.Generator) -> Outcome:
        """Start commands at once, then one after the other those that were refused."""
        commands = list(ON_ONE_FOLDER[number % len(ON_ONE_FOLDER)])
        expected = self.unbroken
        folder = self._searches.copy(f"try {number}")
        flag = folder.parent / f"go {number}"
        started = start_at_once(flag, [(folder, commands[place]) for place in random.permutation(len(commands))])
        problem = self._wrong(started) or differences(expected, self._finished(folder))
        shutil.rmtree(folder)
        return Outcome(f"{len(commands)} commands, one run", problem, len(commands))

    def _wrong(self, started: Sequence[Search]) -> str:
        problems = [each.problem(0, 2) for each in started]
        if any(problems):
            return next(filter(None, problems))
        worked = [each for each in started if each.outcome.code == 0]
        if len(worked) != 1:
            return f"{len(worked)} of {len(started)} commands worked, instead of one"
        for each in started:
            if each.outcome.code == 0:
                continue
            named = REFUSED.fullmatch(each.outcome.stderr.strip())
            if named is None or int(named[1]) != worked[0].session:
                return f"refused with {each.outcome.stderr.strip()!r}; process {worked[0].session} worked"
        return ""

    def _finished(self, folder: Path) -> dict[str, Any]:
        last = Search(folder, *RESUME)
        if problem := last.problem(0):
            return {"the last command": problem}
        return contents(folder)


@contextmanager
def begin(folder: Path, only: Sequence[str] = ()) -> Iterator[Attempt]:
    """Prepare the supernets, and a server if some runs share a database."""
    with ExitStack() as stack:
        attempts: list[Callable[[int, np.random.Generator], Outcome]] = []
        if not only or "runs" in only:
            server = None
            if missing := postgresql.missing():
                print(f"shared_database: no runs on PostgreSQL, because {missing}", file=sys.stderr)
            else:
                server = stack.enter_context(postgresql.postgresql())
            attempts.append(Runs(folder, server).attempt)
        if not only or "one run" in only:
            attempts.append(OneFolder(folder).attempt)

        def attempt(number: int, random: np.random.Generator) -> Outcome:
            turn, place = divmod(number, len(attempts))
            return attempts[place](turn, random)

        yield attempt


CAMPAIGN = Campaign(
    name="shared_database",
    goal=100,
    begin=begin,
    describe=(
        "two to eight runs that start on one empty database at the same moment, and two to four commands on one run "
        "folder; fails if a run finds anything else than alone, or if not exactly one command works and the others are "
        "refused with exit code 2 and one line that names it"
    ),
)
