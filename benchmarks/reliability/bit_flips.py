"""``bit_flips``: single flipped bits in the files of a family, an update and a run folder.

A try flips bits of one kind of file, one after the other, and restores each. The file is then read as commands read it.
The flip is found if that is refused with the name of the file, and harmless if the result is the same as before.
Pages, pictures and logs for people are not read by any command, and not attacked (docs/run-folder.md says so).
"""

from __future__ import annotations

import io
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reliability.artifacts import CLASSES, Artifacts, make_artifacts
from benchmarks.reliability.campaign import Attempt, Campaign, Outcome
from regnas.errors import RegnasError
from regnas.runtime.environment import environment_problems

FLIPS = 20  # per try
FLIPS_OF_COMMANDS = 2  # which take longer
REFUSED = (3, 5)  # 5: SQLite takes some flips in its header for a file that may not be written
make_all = partial(make_artifacts, formats=("onnx", "torch-export"))


@dataclass(frozen=True)
class Target:
    """A file whose bits are flipped.

    Args:
        kind: for the counts.
        path: the file.
        read: returns what commands make of the file, as a value that can be compared; raises a ``RegnasError``.
        flips: per try.
    """

    kind: str
    path: Path
    read: Callable[[], Any]
    flips: int = FLIPS


@contextmanager
def begin(
    folder: Path, make: Callable[[Path], Artifacts] = make_all, flips: int | None = None, skip: tuple[str, ...] = ()
) -> Iterator[Attempt]:
    """Make the files, and read each of them undamaged.

    Args:
        folder: for all files.
        make: makes the files.
        flips: per try; by default fewer for what takes longer.
        skip: kinds that are left out.
    """
    import torch

    torch.set_num_threads(1)
    base = folder / "artifacts"
    base.mkdir()
    made = make(base)
    by_kind: dict[str, list[Target]] = {}
    for target in _targets(made, folder):
        by_kind.setdefault(target.kind, []).append(target)
    kinds = sorted(by_kind.keys() - set(skip))
    expected: dict[Path, Any] = {}

    def attempt(number: int, random: np.random.Generator) -> Outcome:
        kind = kinds[number % len(kinds)]
        counts: Counter[str] = Counter()
        problem = ""
        for _ in range(flips or by_kind[kind][0].flips):
            target = by_kind[kind][int(random.integers(len(by_kind[kind])))]
            key = target.path / kind
            if key not in expected:
                expected[key] = target.read()
            result = flip_one(target, expected[key], random)
            counts[f"{kind}, {result if result in ('found', 'harmless') else 'missed'}"] += 1
            problem = problem or (result if result not in ("found", "harmless") else "")
        return Outcome(kind, problem, sum(counts.values()), counts)

    yield attempt


def flip_one(target: Target, expected: Any, random: np.random.Generator) -> str:
    """Flip one bit, read the file, and restore it; return "found", "harmless", or what is wrong."""
    content = target.path.read_bytes()
    place, bit = int(random.integers(len(content))), int(random.integers(8))
    damaged = bytearray(content)
    damaged[place] ^= 1 << bit
    target.path.write_bytes(damaged)
    where = f"bit {bit} of byte {place:,} of {target.path.name}"
    try:
        with environment_problems():
            found = target.read()
    except RegnasError as error:
        named = target.path.name in str(error) or target.path.stem in str(error)
        if error.exit_code not in REFUSED or not named:
            return f"{where}: exit code {error.exit_code}: {error}"
        return "found"
    except Exception as error:
        return f"{where}: {error!r}"
    finally:
        target.path.write_bytes(content)
    return "harmless" if found == expected else f"{where} changes the result without a word"


def _targets(made: Artifacts, folder: Path) -> Iterable[Target]:
    from regnas.family.family import load_family
    from regnas.family.polishing import recorded_points
    from regnas.flips.predictions import load_predictions
    from regnas.report.family.results import FamilyComparison
    from regnas.report.update.results import UpdateResult
    from regnas.runs.folder import RunFolder
    from regnas.runtime.files import read_sealed_json
    from regnas.space import LatencyTable

    for name, own in (("family", made.run / "family"), ("update", made.update / "models")):
        for path in sorted(own.iterdir()):
            if path.suffix in (".sig", ".json", ".safetensors", ".onnx", ".pt2", ".md"):
                kind = f"{name}, {path.name if path.suffix in ('.json', '.sig') else path.suffix}"
                yield Target(kind, path, partial(_verified, own, made.key.with_suffix(".pub")))
    yield Target(
        "family, manifest.json, load_family",
        made.run / "family" / "manifest.json",
        lambda: load_family(made.run).manifest.to_json(),
    )
    for run in (made.run, made.update):
        name = "run" if run == made.run else "update"
        yield Target(f"{name}, run.json", run / "run.json", partial(_facts, RunFolder, run))
        for path in sorted((run / "predictions").rglob("*.npz")):
            yield Target(f"{name}, predictions", path, partial(_predictions, load_predictions, path))
    yield Target("run, flips.json", made.run / "report" / "flips.json", lambda: FamilyComparison.read(
        made.run / "report" / "flips.json", "").to_json())  # fmt: skip
    yield Target("update, update.json", made.update / "report" / "update.json", lambda: UpdateResult.read(
        made.update / "report" / "update.json", "").to_json())  # fmt: skip
    yield Target("run, study.db", made.run / "study.db", partial(_trials, made))
    for path in sorted(made.run.rglob("points.json")):
        yield Target("run, points.json", path, lambda path=path: repr(recorded_points(path)))  # type: ignore[misc]
    for index in sorted(made.run.rglob("checkpoints.json")):
        yield Target("run, checkpoints.json", index, partial(_checkpoint, index.parent))
        for path in sorted(index.parent.glob("*.safetensors")):
            yield Target("run, checkpoints", path, partial(_checkpoint, index.parent))
    for record in sorted([*made.run.rglob("model.json"), *(made.folder / "cache").rglob("model.json")]):
        yield Target("trained networks, model.json", record, partial(read_sealed_json, record))
        yield Target("trained networks, weights", record.with_name("network.safetensors"), partial(_network, record))
    if made.latency.exists():
        yield Target("latency table", made.latency, lambda: LatencyTable.load(made.latency).to_json())
    for path in (made.run / "run.json", made.run / "study.db", *sorted((made.run / "supernet").iterdir())):
        again = folder / "again"
        place = again / path.relative_to(made.run)
        yield Target("run, export", place, partial(_exported, made, again, place), FLIPS_OF_COMMANDS)


def _verified(folder: Path, key: Path) -> str:
    from regnas.family.manifest.folders import SIGNATURE
    from regnas.family.verifying import verify

    verify(folder).check()
    if (folder / SIGNATURE).exists():
        verify(folder, key=key).check()
    return "verified"


def _facts(kind: Any, run: Path) -> Any:
    return kind.open(run, reads_only=True).facts


def _predictions(load: Callable[[Path], Any], path: Path) -> Any:
    found = load(path)
    logits = None if found.logits is None else found.logits.tolist()
    return found.model, found.ids.tolist(), found.targets.tolist(), found.predicted.tolist(), logits


def _trials(made: Artifacts) -> Any:
    from regnas.search.study import Studies, open_storage, sqlite_storage

    storage = open_storage(sqlite_storage(made.run / "study.db"))
    try:
        studies = Studies(storage, _space(made.config))
        # The names of the searches that a run opens are known from its configuration.
        return {name: repr(studies.open(name).trials()) for name in sorted(studies.names())}
    finally:
        storage.engine.dispose()


@cache
def _space(config: Path) -> Any:
    from regnas.runs.config import load_config
    from regnas.supernet import space_of

    return space_of(load_config(str(config)).values.supernet, (1, 8, 8), CLASSES)


def _checkpoint(folder: Path) -> Any:
    from regnas.training.checkpoint import last_checkpoint

    found = last_checkpoint(folder)
    return found and (found.step, found.path, {name: each.tolist() for name, each in found.tensors.items()})


def _network(record: Path) -> Any:
    from regnas.runtime.files import read_sealed_json
    from regnas.runtime.tensors import load_tensors

    sha256 = read_sealed_json(record)["sha256"]
    tensors = load_tensors(record.with_name("network.safetensors"), sha256)
    return {name: each.tolist() for name, each in tensors.items()}


def _exported(made: Artifacts, again: Path, place: Path) -> Any:
    """Export the family of a copy of the run again, with one damaged file; return the bytes of the family."""
    from regnas.cli import exit_code
    from regnas.errors import ArtifactError

    damaged = place.read_bytes() if place.exists() else None
    shutil.rmtree(again, ignore_errors=True)
    shutil.copytree(made.run, again)
    if damaged is not None:
        place.write_bytes(damaged)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = exit_code(["export", str(again)])
    if code == 3:
        raise ArtifactError(err.getvalue())
    if code != 0:
        return code, err.getvalue()
    return {path.name: path.read_bytes() for path in sorted((again / "family").iterdir())}


CAMPAIGN = Campaign(
    name="bit_flips",
    goal=10_000,
    begin=begin,
    describe=(
        "single flipped bits in manifests, signatures, weights, ONNX and torch-export files, model cards, run.json, "
        "study.db, predictions, checkpoints, results and latency tables; fails unless reading the file is refused with "
        "its name, or has the same result as before"
    ),
)
