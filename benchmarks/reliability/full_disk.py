"""``full_disk``: no space, no quota, no permission or a read-only disk at every write of every command.

A write site is a write-like call (opening for writing, writing, flushing, renaming, making a folder) on a kind of file,
such as ``rename run/predictions/*.npz``. The first tries go through all sites of all commands, each with "no space" and
with "no permission"; later ones choose any call and any error. A try lets the call and, on most tries, all later ones
fail. A later try then continues the command and lets a later call fail, a few times. Every failed command must end with
exit code 5 and one line. The command then runs once more without failures and must leave the same bytes as an unbroken
one.
"""

from __future__ import annotations

import errno
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.reliability.campaign import Attempt, Campaign, Outcome
from benchmarks.reliability.failing_server import FailingServer, Result, failing_server
from benchmarks.reliability.scenarios import SCENARIOS
from benchmarks.reliability.victim import TEMPORARY
from benchmarks.tiny import write_arrays
from regnas.runtime.temporary import SUFFIX

AT_EVERY_SITE = (errno.ENOSPC, errno.EACCES)
ERRORS = (*AT_EVERY_SITE, errno.EROFS, errno.EDQUOT)
MORE_FAILURES = 4  # of the commands that continue, when all sites have had their turn
LARGEST_STEP = 60  # write-like calls until the next failure
# Files of one kind are written by the same code; the names of others are their kind.
KINDS = (".npz", ".safetensors", ".svg", ".png", ".md", ".onnx")
UNLIKE = re.compile(r"(?<=/)\.tmp\w+|[0-9a-f]{8,}|\d+")  # what differs from run to run, or counts
BESIDE = ("continue with: ",)
# Files that hold times or the order of events.
DIFFERENT = ("run.json", "run.log", ".lock", "study.db", "study.db-wal", "study.db-shm", "study.db-journal")


@dataclass(frozen=True)
class Command:
    """A command that is attacked in a folder of its own.

    Args:
        name: for the counts.
        arguments: of the command, for its folder.
        again: further arguments of the command that continues.
        prepare: fills the folder before the command.
    """

    name: str
    arguments: Callable[[Path], list[object]]
    again: tuple[str, ...] = ()
    prepare: Callable[[Path], object] | None = None


@dataclass(frozen=True)
class Unbroken:
    """What a command does and leaves behind if no write fails.

    Args:
        calls: how many write-like calls it makes.
        sites: the number of the first call of each site.
        files: the content of each file.
    """

    calls: int
    sites: Mapping[str, int]
    files: Mapping[str, bytes]


@contextmanager
def begin(folder: Path, only: Sequence[str] = ()) -> Iterator[Attempt]:
    """Prepare the attack of all commands, or of some."""
    with failing_server(folder) as server:
        commands = [each for each in _commands(folder, server) if not only or each.name in only]
        whole = {command.name: _unbroken(command, folder, server) for command in commands}
        first = [
            (command, call, error)
            for command in commands
            for call in whole[command.name].sites.values()
            for error in AT_EVERY_SITE
        ]
        order = np.random.default_rng(0).permutation(len(first))

        def attempt(number: int, random: np.random.Generator) -> Outcome:
            more = 0
            if number < len(order):
                command, call, error = first[order[number]]
            else:
                more = MORE_FAILURES
                command = commands[int(random.integers(len(commands)))]
                call = int(random.integers(1, 1 + whole[command.name].calls))
                error = ERRORS[int(random.integers(len(ERRORS)))]
            return _attack(command, folder / "attacked", server, call, error, more, whole[command.name].files, random)

        yield attempt


def _commands(folder: Path, server: FailingServer) -> list[Command]:
    """Make what the commands need, and return them."""
    write_arrays(folder / "data.npz", samples=150)
    config, plain, update = (folder / f"{name}.toml" for name in ("run", "plain", "update"))
    for path in (config, plain, update):
        path.write_text(SCENARIOS[path.stem].config.replace("../data.npz", str(folder / "data.npz")))
    run = folder / "finished"
    predictions = [folder / f"{name}.npz" for name in ("small", "large")]
    tables = [folder / f"{name}.csv" for name in ("old", "new")]
    for path, answers in zip(tables, ("0012", "0122"), strict=True):
        rows = [f"{place},{place % 3},{answer}" for place, answer in enumerate(answers)]
        path.write_text("\n".join(["id,target,predicted", *rows]))

    @cache
    def finish() -> None:
        _succeed(server.run(["run", plain, "--out", run], folder / "nothing"))
        for path in predictions:
            _succeed(server.run(["predict", f"{run}:{path.stem}", run, "--out", path], folder / "nothing"))

    def finished(target: Path) -> None:
        finish()

    def copied(target: Path) -> None:
        finish()
        shutil.copytree(run, target / "run")

    def update_arguments(target: Path) -> list[object]:
        return ["update", update, "--out", target / "run", "--set", f"cache={target / 'cache'}"]

    return [
        Command("run", lambda target: ["run", config, "--out", target / "run"], ("--resume",)),
        Command("compare", lambda target: ["compare", *tables, "--html", target / "made" / "flips.html"]),
        Command("train", lambda target: ["train", config, "--out", target / "run"], ("--resume",)),
        Command("update", update_arguments, ("--resume",)),
        Command(
            "predict",
            lambda target: ["predict", f"{run}:small", run, "--out", target / "made" / "p.npz"],
            prepare=finished,
        ),
        Command(
            "polish",
            lambda target: [*SCENARIOS["polish"].arguments[:1], target / "run", *SCENARIOS["polish"].arguments[2:]],
            prepare=copied,
        ),
        Command(
            "gallery",
            lambda target: ["gallery", *predictions, "--data", run, "--out", target / "made" / "page.html"],
            prepare=finished,
        ),
        Command("export", lambda target: ["export", target / "run", "--format", "onnx"], prepare=copied),
    ]


def _unbroken(command: Command, folder: Path, server: FailingServer) -> Unbroken:
    target, record = folder / "whole", folder / "record"
    _prepare(command, target)
    record.unlink(missing_ok=True)
    result = server.run(command.arguments(target), target, record=record)
    _succeed(result)
    sites: dict[str, int] = {}
    for number, line in enumerate(record.read_text().splitlines(), start=1):
        sites.setdefault(_site(*line.split(" ", 1), target), number)
    return Unbroken(result.calls, sites, _files(target))


def _site(call: str, path: str, folder: Path) -> str:
    name = UNLIKE.sub("#", TEMPORARY.sub(r"\1", path).removeprefix(str(folder)))
    parent, _, last = name.rpartition("/")
    kind = Path(last).suffix
    return f"{call} {parent}/{'*' + kind if kind in KINDS else last}"


def _attack(
    command: Command,
    folder: Path,
    server: FailingServer,
    site: int,
    error: int,
    more: int,
    expected: Mapping[str, bytes],
    random: np.random.Generator,
) -> Outcome:
    """Let a call fail, and ``more`` calls of the commands that continue; return what is wrong in the end."""
    _prepare(command, folder)
    arguments, attacks = command.arguments(folder), 0
    for _ in range(1 + more):
        once = bool(random.random() < 0.3)
        result = server.run(arguments, folder, site, error, once)
        attacks += result.calls >= site
        problem = _problem_of(result, reached=result.calls >= site, once=once)
        if problem:
            where = f"{errno.errorcode[error]} at write {site}{' once' if once else ''} of {command.name}"
            return Outcome(command.name, f"{where}, attack {attacks}: {problem}", max(attacks, 1))
        arguments = _continued(command, folder)
        if result.code == 0:
            break
        site = int(random.integers(1, LARGEST_STEP))
    if result.code != 0:
        result = server.run(arguments, folder)
        if result.code != 0:
            return Outcome(command.name, f"continued with exit code {result.code}: {result.stderr[-500:]}", attacks)
    return Outcome(command.name, _difference(_files(folder), expected), max(attacks, 1))


def _continued(command: Command, folder: Path) -> list[object]:
    started = not command.again or (folder / "run" / "run.json").exists()
    return [*command.arguments(folder), *(command.again if started else ())]


def _problem_of(result: Result, reached: bool, once: bool) -> str:
    """Say what is wrong with the end of a command; one failure may be harmless, a full disk is not."""
    lines = [line for line in result.stderr.splitlines() if line and not line.startswith(BESIDE)]
    lines = [line for line in lines if "s left" not in line and not line.startswith("stage ")]
    if result.code == 0 and (once or not reached):
        return ""
    if result.code == 5 and len(lines) == 1 and lines[0].startswith("regnas: "):
        return ""
    return f"exit code {result.code}: {result.stderr[-800:]}"


def _prepare(command: Command, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if command.prepare is not None:
        command.prepare(folder)


def _files(folder: Path) -> dict[str, bytes]:
    """Return the content of the files that must be the same; names of the rest."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = str(path.relative_to(folder))
            found[name] = b"" if path.name in DIFFERENT else _content(path, folder)
    return {name: content for name, content in found.items() if Path(name).name not in DIFFERENT[3:]}


def _content(path: Path, folder: Path) -> bytes:
    content = path.read_bytes().replace(str(folder).encode(), b"FOLDER")
    if path.name == "index.html" or path.suffix == ".md":
        return b"page"  # shows times
    return content


def _difference(found: Mapping[str, bytes], expected: Mapping[str, bytes]) -> str:
    missing = [name for name in expected if name not in found]
    stray = [name for name in found if name not in expected]
    changed = [name for name, content in expected.items() if found.get(name, content) != content]
    if not (missing or stray or changed):
        return ""
    left = sum(name.endswith(SUFFIX) for name in stray)
    return json.dumps({"missing": missing[:5], "stray": stray[:5], "temporary": left, "changed": changed[:5]})


def _succeed(result: Result) -> None:
    if result.code != 0:
        raise SystemExit(f"an unbroken command ended with {result.code}: {result.stderr}")


CAMPAIGN = Campaign(
    name="full_disk",
    goal=1000,
    begin=begin,
    describe=(
        "ENOSPC and EACCES at every write site of run, train, update, polish, export, predict, compare and gallery, "
        "then any error of a full or read-only disk at any write, and again in the commands that continue; fails "
        "unless every command ends with exit code 5 and one line, and the last one leaves the bytes of an unbroken one"
    ),
)
