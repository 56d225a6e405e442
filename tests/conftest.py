from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from benchmarks.processes import Outcome, regnas
from benchmarks.reliability import postgresql
from benchmarks.tiny import write_tiny, write_tiny_update

# A shell starts commands in the background of a script with SIGINT ignored, and the tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Importing readline, which pytest does, gives the processes of pytest-xdist the size of a terminal that is not visible.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)

settings.register_profile("regnas", deadline=None)  # time belongs in the benchmarks
settings.load_profile("regnas")


def pytest_collection_finish():
    """One thread: on networks this small threads wait for one another, and the bits depend on how many there are."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


TRAINED = {"finished_run", "finished_update", "exported_run"}


def pytest_collection_modifyitems(items):
    """Mark every test that uses a trained run as slow: the first of them has to wait for the training."""
    for item in items:
        if TRAINED & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Outcome]) -> Path:
    """A folder that the first process of the tests to need it makes, with what was printed; the others wait for it."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "stdout.txt").exists():
            folder.mkdir()
            outcome = make(folder)
            assert outcome.code == 0, outcome.stderr
            (folder / "stderr.txt").write_text(outcome.stderr)
            (folder / "stdout.txt").write_text(outcome.stdout)
    return folder


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory) -> Path:
    """A whole run on tiny data, with two worker processes; tests must not change it."""

    def make(folder):
        return regnas("run", write_tiny(folder, workers=2), "--out", folder / "run")

    return made_once(tmp_path_factory, "finished", make) / "run"


@pytest.fixture(scope="session")
def finished_update(tmp_path_factory) -> Path:
    """A whole update study on tiny data, by two worker processes, with its networks in ``cache`` beside it.

    Tests must not change it.
    """

    def make(folder):
        return regnas("update", write_tiny_update(folder, workers=2), "--out", folder / "run")

    return made_once(tmp_path_factory, "updated", make) / "run"


@pytest.fixture(scope="session")
def postgresql_server():
    """A real server; the test makes a database of its own in it."""
    if reason := postgresql.missing():
        pytest.skip(reason)
    with postgresql.postgresql() as server:
        yield server
