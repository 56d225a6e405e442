"""Commands that campaigns interrupt, what they leave behind if nobody does, and what differs after an attack."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.processes import Outcome as Ended
from benchmarks.processes import PythonProcess
from benchmarks.reliability.campaign import Outcome
from benchmarks.reliability.targets import TAG, Target, heeds
from benchmarks.reliability.victim import Plan
from benchmarks.tiny import CONFIG, UPDATE, write_arrays
from regnas.runtime.files import SEAL

ROOT = Path(__file__).parents[2]
SECONDS_TO_END = 300.0
SECONDS_FOR_ORPHANS = 5.0
EXCERPT = 2000  # characters
RUN = "run"
START = "start"  # before the first stage, and of commands without stages
POLISH = "\n[polish]\nepochs = 1\nalphas = [0.5]\n"


@dataclass(frozen=True)
class Scenario:
    """A command in the folder of a try, which has a configuration and, for some commands, a finished run."""

    name: str
    arguments: tuple[str, ...]
    workers: int = 1
    polish: bool = False
    after: str = ""  # the scenario whose result is there before
    processes: int = 1  # under torchrun, if there are several
    fresh: bool = False  # in a new interpreter, which takes the seconds of importing torch

    @property
    def config(self) -> str:
        if self.name.startswith("update"):
            text = UPDATE.format(data="../data.npz", cache="cache", workers=self.workers)
            text = text.replace("seeds = [0, 1]", "seeds = [0]")
            return text[: text.index("[methods.ensemble]")] + text[text.index("[methods.bcwi]") :]
        text = CONFIG.format(data="../data.npz", workers=self.workers) + (POLISH if self.polish else "")
        for old, new in (
            ('medium = "120k +- 5 %"\n', ""),
            ("candidates = 8", "candidates = 4"),
            ("population = 3", "population = 2"),
            ("[baselines.focal_distillation_lm]\n[baselines.elodi]\nmembers = 2\n", ""),
        ):
            assert old in text
            text = text.replace(old, new)
        return text


RUN_ARGUMENTS = ("run", "tiny.toml", "--out", RUN, "--resume")
UPDATE_ARGUMENTS = ("update", "tiny.toml", "--out", RUN, "--resume")
PREDICTIONS = (f"{RUN}/predictions/small.npz", f"{RUN}/predictions/large.npz")
SCENARIOS = {
    each.name: each
    for each in (
        Scenario("run", RUN_ARGUMENTS, polish=True),
        Scenario("run, workers", RUN_ARGUMENTS, workers=2),
        Scenario("run, torchrun", RUN_ARGUMENTS, processes=2),
        Scenario("run, fresh", RUN_ARGUMENTS, workers=2, polish=True, fresh=True),
        Scenario("update", UPDATE_ARGUMENTS),
        Scenario("update, workers", UPDATE_ARGUMENTS, workers=2),
        Scenario("polish", ("polish", RUN, "--set", "epochs=1", "--set", "alphas=[0.5]"), after="plain"),
        Scenario("export", ("export", RUN, "--format", "onnx"), after="plain"),
        Scenario("export of an update", ("export", RUN, "--format", "onnx"), after="update"),
        Scenario("predict", ("predict", f"{RUN}:small", RUN, "--out", "p.npz", "--overwrite"), after="plain"),
        Scenario("gallery", ("gallery", *PREDICTIONS, "--data", RUN, "--out", "g.html", "--overwrite"), after="plain"),
        Scenario("compare", ("compare", *PREDICTIONS, "--html", "c.html", "--junit", "c.xml"), after="plain"),
        Scenario("verify", ("verify", RUN), after="plain"),
        Scenario("compare, fresh", ("compare", *PREDICTIONS, "--html", "c.html"), after="plain", fresh=True),
        Scenario("plain", RUN_ARGUMENTS),
    )
}


@dataclass(frozen=True)
class Unbroken:
    """What a command leaves behind and how long it takes if nobody attacks it."""

    contents: Mapping[str, Any]
    sites: tuple[str, ...]  # its file operations in order
    seconds: Mapping[str, float]  # by stage; "start" is all that belongs to no stage
    folder: Path

    def places(self, turn: int, count: int) -> list[int]:
        """Return some file operations in order; those of all turns together go through all of them."""
        order = np.random.default_rng(0).permutation(max(len(self.sites), 1))
        return sorted(int(order[(turn * count + index) % len(order)]) for index in range(count))

    def moment(self, previous: int, place: int, at_a_time: bool, random: np.random.Generator) -> Moment:
        """Return the moment of a file operation for a command that continues after another one, or a random moment.

        Random moments are evenly spread over the stages: a search has few file operations that can be seen.
        """
        if at_a_time:
            stage = str(random.choice(list(self.seconds)))
            return Moment(stage=stage, seconds=random.uniform(0, self.seconds[stage]))
        site = self.sites[place]
        return Moment(site, self.sites[previous : place + 1].count(site))


@dataclass(frozen=True)
class Moment:
    """The n-th time that a file operation comes, or some seconds after the beginning of a stage."""

    site: str = ""
    nth: int = 1
    stage: str = START
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"at {self.site}, time {self.nth}" if self.site else f"{self.seconds:.2f} s after {self.stage}"


# Attacks a command, counts what it did by kind, and returns what is wrong in the end.
Attack = Callable[[Unbroken, Path, Counter[str]], str]


@dataclass
class Stage:
    """The folder in which the tries of a campaign take place."""

    folder: Path
    start: Callable[[Scenario, Path, Plan], Any]
    made: dict[str, Unbroken] = field(default_factory=dict)

    def __post_init__(self) -> None:
        write_arrays(self.folder / "data.npz", samples=150)

    def prepare(self, scenario: Scenario, name: str) -> Path:
        """Make the folder of a try."""
        folder = self.folder / name
        if scenario.after:
            shutil.copytree(self.unbroken(SCENARIOS[scenario.after]).folder, folder)
        else:
            folder.mkdir()
            (folder / "tiny.toml").write_text(scenario.config)
        return folder

    def try_out(self, scenario: Scenario, number: int, attack: Attack) -> Outcome:
        """Let ``attack`` interrupt the command of a scenario in a new folder."""
        unbroken, kinds = self.unbroken(scenario), Counter[str]()
        folder = self.prepare(scenario, f"try {number}")
        try:
            problem = attack(unbroken, folder, kinds)
        finally:
            shutil.rmtree(folder)
        return Outcome(scenario.name, problem, kinds.total(), dict(kinds))

    def unbroken(self, scenario: Scenario) -> Unbroken:
        if scenario.name not in self.made:
            folder = self.prepare(scenario, f"unbroken {scenario.name}")
            record = self.folder / f"operations {scenario.name}"
            before = _timings(folder)
            began = time.monotonic()
            outcome = self.start(scenario, folder, Plan(str(folder), str(record))).finish(SECONDS_TO_END)
            assert outcome.code == 0, outcome.stderr
            sites = tuple(record.read_text().splitlines()) if record.exists() else ()
            elapsed = time.monotonic() - began
            spent = {stage: after - before.get(stage, 0.0) for stage, after in _timings(folder).items()}
            seconds = {START: elapsed - sum(spent.values())} | {
                stage: each for stage, each in spent.items() if each > 0
            }
            self.made[scenario.name] = Unbroken(contents(folder), sites, seconds, folder)
        return self.made[scenario.name]


class Process(Protocol):
    """What is common to processes that are forked and to new interpreters."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def finish(self, seconds: float) -> Ended: ...


class NewProcess:
    """A program in a session of its own, and in an interpreter of its own."""

    def __init__(self, arguments: Sequence[str], cwd: Path) -> None:
        self._out, self._err = cwd.parent / f"{cwd.name}.stdout", cwd.parent / f"{cwd.name}.stderr"
        with self._out.open("w") as out, self._err.open("w") as err:
            self._process = subprocess.Popen(
                arguments,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={
                    **os.environ,
                    "PYTHONPATH": str(ROOT),
                    "OMP_NUM_THREADS": "1",
                    "PYTHONFAULTHANDLER": "1",  # an aborted process says where it was
                    TAG: str(cwd),
                },
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    def finish(self, seconds: float) -> Ended:
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise AssertionError(f"the command did not end within {seconds} s: {self._err.read_text()}") from None
        return Ended(code, self._out.read_text(), self._err.read_text())


class Command:
    """A command of a scenario, running.

    Args:
        scenario: what the folder of the try was made for.
        folder: of the try.
        plan: how the command attacks itself.
        arguments: of the command, if not those of the scenario.
    """

    def __init__(self, scenario: Scenario, folder: Path, plan: Plan, arguments: Sequence[str] = ()) -> None:
        self._log = folder / RUN / "run.log"
        self._logged = self._log.stat().st_size if self._log.exists() else 0
        self._process = _started(scenario, folder, plan, arguments or scenario.arguments)
        self.target = Target(self._process.pid, str(folder) if scenario.processes > 1 else "")

    @property
    def ended(self) -> bool:
        return self._process.returncode is not None

    @property
    def stage(self) -> str:
        """The stage that the command has come to."""
        if not self._log.exists():
            return START
        with self._log.open() as log:
            log.seek(self._logged)
            stages = re.findall(r"stage \d+ of \d+: (.+)$", log.read(), re.MULTILINE)
        return stages[-1] if stages else START

    @cached_property
    def outcome(self) -> Ended:
        return self.finish(SECONDS_TO_END)

    def finish(self, seconds: float) -> Ended:
        return self._process.finish(seconds)

    def wait_for(self, moment: Moment) -> None:
        """Wait for a moment in a stage, or until the command ends; from the start, it must have begun to heed signals.

        A command that continues goes through all stages again, and quickly through those that are finished.
        """
        while not self.ended and not heeds(self.target.leader):
            time.sleep(0.001)
        while not self.ended and moment.stage not in (START, self.stage):
            time.sleep(0.005)
        until = time.monotonic() + moment.seconds
        while not self.ended and time.monotonic() < until:
            time.sleep(0.005)

    def orphans(self) -> dict[int, str]:
        """Return the processes that outlive the command by seconds."""
        deadline = time.monotonic() + SECONDS_FOR_ORPHANS
        while (found := self.target.processes()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return found


def _started(scenario: Scenario, folder: Path, plan: Plan, arguments: Sequence[str]) -> Process:
    attacked = ("-m", "benchmarks.reliability.victim", plan.to_text(), *arguments)
    if scenario.processes > 1:
        launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(scenario.processes))
        return NewProcess((sys.executable, *launcher, *attacked), folder)
    if scenario.fresh:
        return NewProcess((sys.executable, "-m", "regnas", *arguments), folder)
    return PythonProcess(*attacked, cwd=folder)


def printed_command(outcome: Ended) -> tuple[str, ...]:
    """Return the arguments of the command that continues, as a shell splits what was printed; empty if none was."""
    found = re.findall(r"^continue with: (regnas .*)$", outcome.stderr, re.MULTILINE)
    return tuple(shlex.split(found[0])[1:]) if found else ()


def last_problem(command: Command, unbroken: Unbroken, folder: Path) -> str:
    """Say what is wrong in the end, when a command was not attacked any more; empty if nothing is."""
    if command.outcome.code:
        return f"continued: exit code {command.outcome.code}: {excerpt(command.outcome.stderr)}"
    if orphans := command.orphans():
        return f"continued: processes are left: {orphans}"
    return differences(unbroken.contents, contents(folder))


def excerpt(stderr: str) -> str:
    """Return the beginning and the end of what a failed command printed: torchrun's summary comes after the cause."""
    return stderr if len(stderr) <= 2 * EXCERPT else f"{stderr[:EXCERPT]} ... {stderr[-EXCERPT:]}"


def contents(folder: Path) -> dict[str, Any]:
    """Return what a try left behind: the bytes of every file, without times and the random name of the run."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir():
            found[name] = "a folder"
        elif path.name == "run.json":
            facts = json.loads(path.read_text())
            # Anchors are the folders of this try.
            found[name] = {key: value for key, value in facts.items() if key not in ("timings", "id", "anchors", SEAL)}
        elif path.name == "study.db":
            found[name] = _candidates(path)
        elif path.name not in (".lock", "run.log"):
            found[name] = path.read_bytes()
    return found


def differences(expected: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Describe what is missing, left over or different; empty if nothing is."""
    parts = {
        "missing": sorted(expected.keys() - found.keys()),
        "left over": sorted(found.keys() - expected.keys()),
        "different": sorted(name for name in expected.keys() & found.keys() if expected[name] != found[name]),
    }
    return "; ".join(f"{what}: {', '.join(names[:5])}" for what, names in parts.items() if names)


def _timings(folder: Path) -> dict[str, float]:
    path = folder / RUN / "run.json"
    timings: dict[str, float] = json.loads(path.read_text())["timings"] if path.exists() else {}
    return timings


def _candidates(path: Path) -> list[tuple[Any, ...]]:
    query = """select study_name, number, state, param_name, param_value, value from trials
    join studies using (study_id) left join trial_params using (trial_id) left join trial_values using (trial_id)"""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return sorted(connection.execute(query).fetchall(), key=repr)
