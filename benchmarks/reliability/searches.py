"""Searches of a supernet that is trained once: commands on copies of its run folder, and what they must find."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.processes import Outcome, PythonProcess
from benchmarks.reliability.scenarios import SECONDS_FOR_ORPHANS, contents
from benchmarks.reliability.targets import Target
from benchmarks.reliability.victim import Plan
from benchmarks.tiny import CONFIG, write_arrays
from regnas.runtime.files import digest_of, read_sealed_json, write_sealed_json

RUN = "run"
SECONDS_TO_END = 120.0
OWN = ("run.json", "study.db")  # what depends on the database and on the name of the run
POLISH = "\n[polish]\nepochs = 1\nalphas = [0.5]\n"


def configuration(seed: int = 3, polish: bool = False) -> str:
    """Two members, and generations large enough for workers."""
    text = CONFIG.format(data="../data.npz", workers=1)
    text = text[: text.index("[baselines.independent]")] + text[text.index("[machine]") :]
    for old, new in (
        ("seed = 3", f"seed = {seed}"),
        ('medium = "120k +- 5 %"\n', ""),
        ("epochs = 3", "epochs = 1"),
        ("candidates = 8", "candidates = 32"),
        ("population = 3", "population = 16"),
    ):
        assert old in text
        text = text.replace(old, new)
    return text + (POLISH if polish else "")


class Search:
    """A command in a session of its own, in the folder of a try.

    Args:
        folder: the folder.
        arguments: the command.
        variables: of its environment.
        inside: what comes before the module, to run it elsewhere.
        flag: a file for which the command waits before it begins.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: object,
        variables: Mapping[str, str] | None = None,
        inside: tuple[str, ...] = ("-m",),
        flag: Path | None = None,
    ) -> None:
        plan = Plan(str(folder), flag=str(flag or ""))
        module = "benchmarks.reliability.victim"
        self.process = PythonProcess(*inside, module, plan.to_text(), *arguments, cwd=folder, variables=variables)
        self.session = self.process.pid
        self.target = Target(self.session)

    @property
    def ended(self) -> bool:
        return self.process.returncode is not None

    @cached_property
    def outcome(self) -> Outcome:
        return self.process.finish(SECONDS_TO_END)

    def problem(self, *allowed: int) -> str:
        """Describe what a user would complain about when the command has ended; empty if all is well."""
        try:
            outcome = self.outcome
        except AssertionError as error:
            return f"hangs: {error}"
        if outcome.code not in allowed:
            return f"exit code {outcome.code}: {outcome.stderr[-1500:]}"
        said = [line for line in outcome.stderr.splitlines() if line.startswith("regnas: ")]
        others = [line for line in outcome.stderr.splitlines() if line and not line.startswith(EXPECTED)]
        if len(said) != (outcome.code != 0) or others:
            return f"exit code {outcome.code} with other lines than one: {outcome.stderr[-1500:]}"
        if orphans := self._orphans():
            return f"processes are left: {orphans}"
        return ""

    def _orphans(self) -> dict[int, str]:
        deadline = time.monotonic() + SECONDS_FOR_ORPHANS
        while (found := self.target.processes()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return found


# The lines that a command may print on standard error: the problem, the continuation, and the progress.
EXPECTED = ("regnas: ", "continue with: ", "stage ", "search ", "train ", "polish ")
QUERY = """select study_name, number, cast(state as text), param_name, param_value, value from trials
join studies using (study_id) left join trial_params using (trial_id) left join trial_values using (trial_id)"""


def recorded(connection: Any, run: str) -> list[tuple[Any, ...]]:
    """Return the candidates of a run in a database that runs share, as those of a run that is alone."""
    rows = [tuple(row) for row in connection.execute(QUERY).fetchall()]
    return sorted(((row[0].removeprefix(run), *row[1:]) for row in rows if row[0].startswith(run)), key=repr)


@dataclass
class Searches:
    """A run folder with a trained supernet, and what a search in a copy of it leaves behind."""

    folder: Path
    seed: int = 3
    polish: bool = False
    seconds: float = field(default=0.0, init=False)  # of an unbroken search

    def __post_init__(self) -> None:
        self.folder.mkdir()
        if not (self.folder.parent / "data.npz").exists():
            write_arrays(self.folder.parent / "data.npz", samples=150)
        (self.folder / "tiny.toml").write_text(configuration(self.seed, self.polish))
        self._do(self.folder, "train", "tiny.toml", "--out", RUN)

    def copy(self, name: str, storage: str = "") -> Path:
        """Make the folder of a try, with a run of its own, which records its candidates in a storage."""
        folder = self.folder.parent / name
        shutil.copytree(self.folder, folder)
        path = folder / RUN / "run.json"
        facts = read_sealed_json(path)
        facts["id"] = uuid4().hex[:12]
        if storage:
            facts["configuration"]["search"]["storage"] = storage
            facts["digest"] = digest_of(facts["configuration"])
        write_sealed_json(path, facts)
        return folder

    @cached_property
    def unbroken(self) -> dict[str, Any]:
        """What is there after an unbroken search and an export."""
        folder = self.copy(f"unbroken {self.folder.name}")
        began = time.monotonic()
        self._do(folder, "search", RUN, "--executor", "inline")
        self.seconds = time.monotonic() - began
        self._do(folder, "export", RUN)
        return contents(folder)

    @property
    def candidates(self) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.unbroken[f"{RUN}/study.db"]
        return found

    def export(self, folder: Path, variables: Mapping[str, str] | None = None) -> str:
        return Search(folder, "export", RUN, variables=variables).problem(0)

    def _do(self, folder: Path, *arguments: object) -> None:
        command = Search(folder, *arguments)
        assert command.outcome.code == 0, command.outcome.stderr


def label(folder: Path) -> str:
    """Return what the names of the searches of a run begin with in a shared database."""
    facts = json.loads((folder / RUN / "run.json").read_text())
    return f"{facts['name']} {facts['id']}/"


def without_own(found: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what depends on the database and on the name of the run."""
    return {name: content for name, content in found.items() if Path(name).name not in OWN}
