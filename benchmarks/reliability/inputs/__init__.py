"""What fuzzing damages: each kind of file, how it is damaged, and the code of the command line that reads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.reliability.artifacts import Artifacts
from benchmarks.reliability.inputs.checkpoints import checkpoints
from benchmarks.reliability.inputs.configurations import configurations
from benchmarks.reliability.inputs.families import families
from benchmarks.reliability.inputs.keys import keys
from benchmarks.reliability.inputs.pictures import pictures
from benchmarks.reliability.inputs.prediction_files import prediction_files
from benchmarks.reliability.inputs.run_folders import run_folders
from benchmarks.reliability.inputs.target import Target


def targets(made: Artifacts, folder: Path) -> Iterator[Target]:
    """Yield all targets, importing what each needs when its turn comes; without a run, those that need none."""
    yield from prediction_files(folder)
    yield from configurations(made, folder)
    yield from pictures(made, folder)
    yield from keys(made, folder)
    if made.run.exists():
        yield from families(made, folder)
        yield from run_folders(made, folder)
    yield from checkpoints(folder)
