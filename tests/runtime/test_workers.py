from __future__ import annotations

import os
import sys
import time
from graphlib import CycleError
from pathlib import Path

import pytest

from benchmarks.processes import PythonProcess
from regnas.errors import DataError, EnvironmentProblem
from regnas.runtime.other_processes import is_running
from regnas.runtime.workers import run_in_order

JOBS = {"c": ("a", "b"), "a": (), "b": ("a",), "d": ()}


class Note:
    """Writes the job and the process that ran it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, job: str) -> None:
        (self.folder / job).write_text(str(os.getpid()))


def fail(job: str) -> None:
    raise DataError(f"{job} is bad")


def die(job: str) -> None:
    os._exit(9)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_every_job_runs_once_after_what_it_depends_on(tmp_path, workers):
    done = list(run_in_order(JOBS, Note(tmp_path), workers))
    assert sorted(done) == ["a", "b", "c", "d"]
    assert done.index("a") < done.index("b") < done.index("c")
    processes = {(tmp_path / job).read_text() for job in done}
    assert (str(os.getpid()) in processes) == (workers == 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_error_of_a_job_comes_back_as_it_was(workers):
    with pytest.raises(DataError, match="a is bad") as error:
        list(run_in_order({"a": ()}, fail, workers))
    assert error.value.exit_code == 3


@pytest.mark.slow
def test_a_worker_that_dies_is_reported_and_not_waited_for():
    with pytest.raises(EnvironmentProblem, match="a worker process died"):
        list(run_in_order({"a": (), "b": ()}, die, 2))


def test_jobs_that_depend_on_all_before_them_are_ordered_at_once():
    """The paths through 60 such jobs are 2 to the 59: an order that follows each of them would never come."""
    names = [f"job {number}" for number in range(60)]
    jobs = {name: names[:place] for place, name in reversed(list(enumerate(names)))}
    assert list(run_in_order(jobs, lambda job: None, 1)) == names


def test_jobs_that_wait_for_one_another_are_refused():
    with pytest.raises(CycleError):
        list(run_in_order({"a": ("b",), "b": ("a",)}, lambda job: None, 1))


WITH_A_WORKER = """
import os, sys, time
from regnas.runtime.workers import WorkerProcess
from tests.runtime.test_workers import prepare, process_number
worker = WorkerProcess(prepare, None)
print(worker.submit(process_number, None).result(), flush=True)
time.sleep(600)
"""


def prepare(argument: None) -> None:
    pass


def process_number(argument: None) -> int:
    return os.getpid()


@pytest.mark.slow
def test_a_worker_ends_with_its_parent_even_if_that_is_killed():
    parent = PythonProcess("-c", WITH_A_WORKER)
    parent.wait_for(lambda: parent.stdout.endswith("\n"))
    worker = int(parent.stdout)
    assert worker != parent.pid
    assert is_running(worker)
    parent.kill()
    wait_for_the_end_of(worker)


# The server imports the module of the call, which takes long here.
WITH_A_SERVER = """
import sys, time
from multiprocessing import forkserver
sys.path.append({folder!r})
from module import call
from regnas.runtime.workers import worker_context
worker_context(call)
print(forkserver._forkserver._forkserver_pid, flush=True)
time.sleep(600)
"""
MODULE = """
import os, pathlib, time
if os.getppid() == int(os.environ.get("REGNAS_SERVED_PROCESS", 0)):
    pathlib.Path(__file__).with_name("importing").touch()
    time.sleep(600)
def call(): ...
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers have no server")
def test_the_server_of_the_workers_ends_with_its_parent_while_it_imports(tmp_path):
    (tmp_path / "module.py").write_text(MODULE)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    parent = PythonProcess("-c", WITH_A_SERVER.format(folder=str(tmp_path)), variables={"PYTHONPATH": path})
    parent.wait_for(lambda: parent.stdout.endswith("\n") and (tmp_path / "importing").exists())
    server = int(parent.stdout)
    assert is_running(server)
    parent.kill()
    wait_for_the_end_of(server)


def wait_for_the_end_of(process: int) -> None:
    deadline = time.monotonic() + 60
    while is_running(process):
        assert time.monotonic() < deadline, f"process {process} outlived its parent"
        time.sleep(0.01)
