from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from tests.tiny import write_tiny, write_tiny_update

# Before anything imports torch, here and in every process a test starts: threads that wait for one another on networks
# this small cost more than they bring, and the bits of a result depend on their number.
os.environ["OMP_NUM_THREADS"] = "1"
settings.register_profile("regnas", deadline=None)  # time belongs into the benchmarks
settings.load_profile("regnas")


@dataclass(frozen=True)
class Outcome:
    code: int
    stdout: str
    stderr: str


def regnas(*arguments: object, cwd: Path | None = None) -> Outcome:
    """The real command in a process of its own."""
    command = [sys.executable, "-m", "regnas", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False, timeout=240)
    return Outcome(done.returncode, done.stdout, done.stderr)


def wait_for(condition, process, seconds=120):
    """Until the moment has come to kill the process."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.002)
    raise AssertionError("the moment to kill never came")


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory) -> Path:
    """A whole run on tiny data, with two worker processes; tests must not change it."""
    folder = tmp_path_factory.mktemp("finished")
    config = write_tiny(folder, workers=2)
    outcome = regnas("run", config, "--out", folder / "run")
    assert outcome.code == 0, outcome.stderr
    (folder / "stdout.txt").write_text(outcome.stdout)
    (folder / "stderr.txt").write_text(outcome.stderr)
    return folder / "run"


@pytest.fixture(scope="session")
def finished_update(tmp_path_factory) -> Path:
    """A whole update study on tiny data, by two worker processes, with its networks in ``cache`` beside it.

    Tests must not change it.
    """
    folder = tmp_path_factory.mktemp("updated")
    outcome = regnas("update", write_tiny_update(folder, workers=2), "--out", folder / "run")
    assert outcome.code == 0, outcome.stderr
    (folder / "stdout.txt").write_text(outcome.stdout)
    (folder / "stderr.txt").write_text(outcome.stderr)
    return folder / "run"
