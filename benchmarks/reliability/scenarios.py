"""Commands that campaigns interrupt, what they leave behind if nobody does, and what differs after an attack."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.processes import Outcome, PythonProcess
from benchmarks.reliability.victim import Plan, processes_of
from benchmarks.tiny import CONFIG, UPDATE, write_arrays

SECONDS_TO_END = 120.0
SECONDS_FOR_ORPHANS = 5.0
RUN = "run"
POLISH = "\n[polish]\nepochs = 1\nalphas = [0.5]\n"


@dataclass(frozen=True)
class Scenario:
    """A command in the folder of a try, which has a configuration and, for some commands, a finished run."""

    name: str
    arguments: tuple[str, ...]
    workers: int = 1
    polish: bool = False
    after: str = ""  # the scenario whose result is there before

    @property
    def config(self) -> str:
        if self.name.startswith("update"):
            text = UPDATE.format(data="../data.npz", cache="cache", workers=self.workers)
            text = text.replace("seeds = [0, 1]", "seeds = [0]")
            return text[: text.index("[methods.ensemble]")] + text[text.index("[methods.bcwi]") :]
        text = CONFIG.format(data="../data.npz", workers=self.workers) + (POLISH if self.polish else "")
        for old, new in (
            ('medium = "120k +- 5 %"\n', ""),
            ("epochs = 3", "epochs = 2"),
            ("candidates = 8", "candidates = 4"),
            ("population = 3", "population = 2"),
            ("[baselines.focal_distillation_lm]\n[baselines.elodi]\nmembers = 2\n", ""),
        ):
            assert old in text
            text = text.replace(old, new)
        return text


SCENARIOS = {
    each.name: each
    for each in (
        Scenario("run", ("run", "tiny.toml", "--out", RUN, "--resume"), polish=True),
        Scenario("run, workers", ("run", "tiny.toml", "--out", RUN, "--resume"), workers=2),
        Scenario("update", ("update", "tiny.toml", "--out", RUN, "--resume")),
        Scenario("update, workers", ("update", "tiny.toml", "--out", RUN, "--resume"), workers=2),
        Scenario("polish", ("polish", RUN, "--set", "epochs=1", "--set", "alphas=[0.5]"), after="plain"),
        Scenario("export", ("export", RUN, "--format", "onnx"), after="plain"),
        Scenario("plain", ("run", "tiny.toml", "--out", RUN, "--resume")),
    )
}


@dataclass(frozen=True)
class Unbroken:
    """What a command leaves behind and how long it takes if nobody attacks it."""

    contents: Mapping[str, Any]
    sites: tuple[str, ...]  # its file operations in order
    seconds: float
    folder: Path


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

    def unbroken(self, scenario: Scenario) -> Unbroken:
        if scenario.name not in self.made:
            folder = self.prepare(scenario, f"unbroken {scenario.name}")
            record = self.folder / f"operations {scenario.name}"
            began = time.monotonic()
            outcome = self.start(scenario, folder, Plan(str(folder), str(record))).finish(SECONDS_TO_END)
            assert outcome.code == 0, outcome.stderr
            sites = tuple(record.read_text().splitlines())
            seconds = time.monotonic() - began
            self.made[scenario.name] = Unbroken(contents(folder), sites, seconds, folder)
        return self.made[scenario.name]


class Command:
    """A command of a scenario, running."""

    def __init__(self, scenario: Scenario, folder: Path, plan: Plan) -> None:
        self._process = PythonProcess(
            "-m", "benchmarks.reliability.victim", plan.to_text(), *scenario.arguments, cwd=folder
        )
        self.session = self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.returncode is not None

    @cached_property
    def outcome(self) -> Outcome:
        return self.finish(SECONDS_TO_END)

    def finish(self, seconds: float) -> Outcome:
        return self._process.finish(seconds)

    def orphans(self) -> dict[int, str]:
        """Return the processes that outlive the command by seconds."""
        deadline = time.monotonic() + SECONDS_FOR_ORPHANS
        while (found := processes_of(self.session)) and time.monotonic() < deadline:
            time.sleep(0.02)
        return found


def contents(folder: Path) -> dict[str, Any]:
    """Return what a try left behind: the bytes of every file, without times and the random name of the run."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir():
            found[name] = "a folder"
        elif path.name == "run.json":
            facts = json.loads(path.read_text())
            found[name] = {key: value for key, value in facts.items() if key not in ("timings", "id")}
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


def stage_of(scenario: Scenario, folder: Path) -> str:
    """Return the stage that a run was last in."""
    log = folder / RUN / "run.log"
    lines = log.read_text().splitlines() if log.exists() and not scenario.name.startswith("update") else []
    stages = [line.rpartition(": ")[2] for line in lines if " stage " in line and " of " in line]
    return scenario.name.partition(",")[0] if scenario.after or not stages else stages[-1]


def _candidates(path: Path) -> list[tuple[Any, ...]]:
    query = """select study_name, number, state, param_name, param_value, value from trials
    join studies using (study_id) left join trial_params using (trial_id) left join trial_values using (trial_id)"""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return sorted(connection.execute(query).fetchall(), key=repr)
