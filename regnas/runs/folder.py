"""The folder of a run: its files, and the recorded facts about the run."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from regnas.components.paths import Anchors
from regnas.errors import ArtifactError, ConfigurationError, EnvironmentProblem
from regnas.family.manifest.tables import JsonTable
from regnas.runtime.files import digest_of, read_sealed_json, write_sealed_json
from regnas.runtime.lock import LOCK
from regnas.runtime.machine import differences
from regnas.runtime.progress import in_stage

RUN = "run.json"
FORMAT = 1
REQUIRED = (
    "format", "name", "digest", "threads", "versions", "machine", "data", "timings", "configuration",
)  # fmt: skip
CONDITIONS = ("threads", "processes", "versions")  # separate facts, beside those of the machine
ANCHORS = "anchors"  # a fact: the folders that relative paths of the configuration belong to
CLIPPING = "clipping"  # a fact: clipped steps of each training without its own record
OPTIONAL_TABLES = (CLIPPING, "added_budgets", "later_members")  # facts that a run may lack
OBSERVING = ("loggers",)  # keys of a configuration that cannot change a result
Reuse = Literal["refuse", "resume", "overwrite"]

log = logging.getLogger("regnas")


class RunFolder:
    """The paths and the recorded facts (``run.json``) of a run; with ``reads_only``, nothing is written.

    ``create`` and ``open`` make it.
    """

    def __init__(self, path: Path, facts: dict[str, Any], reads_only: bool = False) -> None:
        self.path = path
        self.facts = facts
        self.reads_only = reads_only
        self.supernet = path / "supernet"
        self.polish = path / "polish"
        self.trainings = path / "trainings"
        self.study = path / "study.db"
        self.family = path / "family"
        self.predictions = path / "predictions"
        self.report = path / "report"
        self.metrics = path / "metrics"
        self.log = path / "run.log"

    @classmethod
    def create(
        cls,
        path: Path,
        name: str,
        table: dict[str, Any],
        machine: dict[str, Any],
        reuse: Reuse,
        anchors: Anchors | None = None,
    ) -> RunFolder:
        """Start a run, or continue one that has the same configuration."""
        used = path.exists() and any(entry.name != LOCK for entry in path.iterdir())
        if used and reuse == "overwrite":
            _clear(path)
        elif used and reuse == "refuse":
            raise ConfigurationError(
                f"{path} must be empty, got files. Continue its run with `resume=True`, or start again with "
                "`overwrite=True`."
            )
        elif used:
            folder = cls.open(path)
            known = folder.facts["configuration"]
            if folder.facts["digest"] != digest_of(decisive(table)):
                raise ConfigurationError(
                    f"{path} belongs to another configuration ({_difference(decisive(known), decisive(table))}). "
                    "Choose another `out`."
                )
            if known != table:
                folder.keep("configuration", table)
            return folder
        facts = {
            "format": FORMAT,
            "name": name,
            "id": uuid4().hex[:12],
            "digest": digest_of(decisive(table)),
            "seed": table.get("seed", 0),
            "threads": machine["threads"],
            "processes": machine.get("processes", 1),
            "versions": machine["versions"],
            "machine": {key: value for key, value in machine.items() if key not in CONDITIONS},
            "data": None,
            "timings": {},
            "configuration": table,
            ANCHORS: None if anchors is None else anchors.to_json(path),
        }
        folder = cls(path, facts)
        folder.save()
        return folder

    @classmethod
    def open(cls, path: Path, reads_only: bool = False) -> RunFolder:
        """Open an existing run, and check its facts."""
        if not (path / RUN).exists():
            raise ArtifactError(f"{path} must be a run folder with {RUN}, got none")
        facts = read_sealed_json(path / RUN)
        _check_facts(facts, path / RUN)
        return cls(path, facts, reads_only)

    @property
    def anchors(self) -> Anchors | None:
        """The folders that relative paths of the configuration belong to; None for runs of earlier versions."""
        recorded = self.facts.get(ANCHORS)
        return None if recorded is None else Anchors.from_json(recorded, self.path)

    @property
    def processes(self) -> int:
        """The number of processes that train the supernet; a step has ``batch_size`` images per process."""
        return int(self.facts.get("processes", 1))

    @property
    def supernet_trained(self) -> bool:
        return bool(self.facts.get("supernet_trained", False))

    @property
    def page(self) -> Path:
        """The page of the report, which is written last."""
        return self.report / "index.html"

    @property
    def label(self) -> str:
        """The name of this run in a database that it shares with others."""
        return f"{self.facts['name']} {self.facts['id']}"

    def save(self) -> None:
        """Write the facts."""
        if not self.reads_only:
            write_sealed_json(self.path / RUN, self.facts)

    def check_machine(self, machine: dict[str, Any], allow_inexact: bool) -> None:
        """Refuse to continue under other conditions, which change the bits of the result, unless the user allows it.

        The number of processes matters until the supernet is trained; the later stages run in one process.
        """
        recorded = {**self.facts["machine"], "threads": self.facts["threads"], "versions": self.facts["versions"]}
        recorded["processes"] = machine.get("processes", 1) if self.supernet_trained else self.processes
        changed = differences(recorded, machine)
        if changed and not allow_inexact:
            raise ConfigurationError(
                f"{self.path} was started under other conditions ({'; '.join(changed[:3])}), so the result would not "
                "be the same bit for bit. Continue anyway with `allow_inexact=True`."
            )

    def conditions(self) -> dict[str, str]:
        """Describe the machine and the versions for the report."""
        machine, versions = self.facts["machine"], self.facts["versions"]
        together = f", {self.processes} processes for the supernet" if self.processes > 1 else ""
        return {
            "Machine": f"{machine['platform']}, {machine['device']}, {self.facts['threads']} threads{together}",
            "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        }

    def check_data(self, summary: dict[str, Any]) -> None:
        """Refuse data that differ from those that the run was started with."""
        recorded = self.facts["data"]
        if recorded is not None and recorded["digest"] != summary["digest"]:
            raise ArtifactError(
                f"the data set must be the one that {self.path} was started with, digest {recorded['digest'][:12]}…, "
                f"got {summary['digest'][:12]}…. Restore the data."
            )
        self.facts["data"] = summary
        self.save()

    def check_file(self, fact: str, name: str, sha256: str) -> None:
        """Refuse a file that differs from the one that the run was started with."""
        recorded = self.facts.get(fact, sha256)
        if recorded != sha256:
            raise ArtifactError(
                f"{fact}: {name} must be the file that {self.path} was started with, sha256 {recorded[:12]}…, got "
                f"{sha256[:12]}…. Restore the file."
            )
        self.keep(fact, sha256)

    def keep(self, fact: str, value: Any) -> None:
        """Record a fact."""
        self.facts[fact] = value
        self.save()

    def forget(self, fact: str) -> None:
        """Remove a fact."""
        if fact in self.facts:
            del self.facts[fact]
            self.save()

    def add(self, fact: str, entries: Mapping[str, Any]) -> None:
        """Add entries to a fact that is a table."""
        self.keep(fact, {**self.facts.get(fact, {}), **entries})

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Report the block as a stage, and add its seconds to those of earlier calls."""
        started = time.monotonic()
        try:
            with in_stage(stage) as beginning:
                log.info("%s", beginning.heading)
                yield
        finally:
            spent = time.monotonic() - started
            self.facts["timings"][stage] = round(self.facts["timings"].get(stage, 0.0) + spent, 2)
            self.save()


def decisive(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration without the keys that cannot change a result."""
    return {key: value for key, value in table.items() if key not in OBSERVING}


def check_space(path: Path, needed_bytes: int) -> None:
    """Refuse to start if the disk has no room for the files of the run."""
    free = shutil.disk_usage(path).free
    if free < needed_bytes:
        raise EnvironmentProblem(
            f"{path} must have about {needed_bytes / 2**20:,.0f} MiB of free disk, got {free / 2**20:,.0f} MiB. "
            "Free some space, or choose another `out`."
        )


def _check_facts(facts: dict[str, Any], path: Path) -> None:
    """Refuse facts of a wrong kind; optional ones may be absent."""
    run = JsonTable.of(facts, path, "the run", REQUIRED)
    for key in ("name", "digest"):
        run.text(key)
    for key in ("configuration", "versions", *(each for each in OPTIONAL_TABLES if each in facts)):
        run.table(key)
    for key in ("threads", *(each for each in ("processes", "supernet_training_macs") if each in facts)):
        run.count(key)
    if "held_out" in facts:
        run.rate("held_out")
    for key in ("polish", "polished"):
        if facts.get(key) is not None:
            polish = JsonTable.of(facts[key], path, f"the fact {key}", ("settings", "alpha"))
            polish.table("settings")
            if facts[key]["alpha"] is not None:
                polish.rate("alpha")
    if "polished_members" in facts:
        run.texts("polished_members")
    if facts.get(ANCHORS) is not None:
        anchors = JsonTable.of(run.table(ANCHORS), path, "the anchors", ("absolute", "from_run", "keys"))
        anchors.texts("keys")
        for seen in ("absolute", "from_run"):
            folders = JsonTable.of(anchors.table(seen), path, "the anchors", ("file", "given"))
            for key in ("file", "given"):
                folders.text(key)
    machine = JsonTable.of(run.table("machine"), path, "the machine", ("platform", "device"))
    for key in ("platform", "device"):
        machine.text(key)
    timings = JsonTable.of(run.table("timings"), path, "the timings", ())
    for stage in timings.value:
        timings.number(stage)
    if facts["data"] is not None:
        data = JsonTable.of(run.table("data"), path, "the data", ("digest", "splits"))
        data.text("digest")
        splits = JsonTable.of(data.table("splits"), path, "the splits", ())
        for name in splits.value:
            JsonTable.of(splits.table(name), path, f"the {name} split", ("digest",)).text("digest")


def _clear(path: Path) -> None:
    """Delete a run; refuse a folder that is not a run."""
    if not (path / RUN).exists():
        raise ConfigurationError(f"{path} has files but no run; `overwrite` deletes only runs. Choose another `out`.")
    for entry in path.iterdir():
        if entry.name == LOCK:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _difference(recorded: Any, given: Any, where: str = "") -> str:
    """Describe the first place where two configurations differ."""
    if isinstance(recorded, dict) and isinstance(given, dict):
        for key in [*recorded, *(key for key in given if key not in recorded)]:
            if recorded.get(key) != given.get(key):
                return _difference(recorded.get(key), given.get(key), f"{where}.{key}" if where else key)
    return f"{where} was {recorded}, now {given}"
