"""A real Dask cluster, whose processes die."""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import subprocess
import sys
import sysconfig
import threading
import time
from contextlib import closing
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from distributed.client import AllExit

from benchmarks.reliability.dask_processes import Cluster
from regnas.errors import ConfigurationError, EnvironmentProblem, Interrupted
from regnas.runtime import signals
from regnas.search.evaluation import dask_cluster
from regnas.search.evaluation.dask_cluster import PATIENCE, DaskCluster, check_scheduler
from tests.search.evaluation.executing import same_bits_until_closed

pytestmark = [
    pytest.mark.distributed,
    pytest.mark.slow,
    # A Dask client whose connection is refused leaves its socket to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    with closing(cluster):
        cluster.start_scheduler()
        yield cluster


@pytest.fixture
def cluster(running):
    """Restore two workers and a scheduler after earlier tests have killed some."""
    names = (f"another-{number}" for number in count())
    if running.scheduler is None:
        running.start_scheduler()
    for place in set(running.workers) - set(running.running()):
        running.kill_worker(place)
    while len(running.workers) < 2:
        name = next(names)
        if name not in running.workers:
            running.start_worker(name)
    running.wait_for_workers()
    return running


@pytest.fixture
def opened(open_evaluator, cluster):
    with closing(open_evaluator(f"dask={cluster.address}")) as evaluator:
        yield evaluator


def same(found, expected):
    return len(found) == len(expected) and all(map(np.array_equal, found, expected))


def test_a_cluster_predicts_the_same_bits_and_closed_its_workers_stay(open_evaluator, some, expected, cluster):
    same_bits_until_closed(open_evaluator(f"dask={cluster.address}"), some, expected)
    assert len(cluster.running()) == 2


def test_workers_that_are_killed_are_replaced_by_those_that_join_later(opened, some, expected, cluster):
    results = opened.predict_each(some)
    found = [next(results).predicted]
    for place in cluster.running():  # and with them everything that was placed
        cluster.kill_worker(place)
    joining = threading.Timer(0.5, cluster.start_worker, ["late"])
    joining.start()
    found += [predictions.predicted for predictions in results]
    joining.join()
    assert same(found, expected)


def test_a_scheduler_may_be_started_again(opened, some, expected, cluster):
    results = opened.predict_each(some)
    found = [next(results).predicted]
    restart(cluster)
    found += [predictions.predicted for predictions in results]
    assert same(found, expected)


def test_a_scheduler_may_be_started_again_between_two_generations(opened, some, expected, cluster):
    found = [predictions.predicted for predictions in opened.predict_each(some[:12])]
    restart(cluster)
    found += [predictions.predicted for predictions in opened.predict_each(some[12:])]
    assert same(found, expected)


def restart(cluster):
    cluster.kill_scheduler()
    cluster.start_scheduler()
    for place in list(cluster.workers):  # which end with their scheduler
        cluster.kill_worker(place)
        cluster.start_worker(place)


@pytest.mark.parametrize("dies", ["scheduler", "workers"])
def test_a_cluster_that_is_gone_is_one_line_after_the_patience(open_evaluator, some, cluster, dies, monkeypatch):
    monkeypatch.setenv("REGNAS_DASK_PATIENCE", "1")
    with closing(open_evaluator(f"dask={cluster.address}")) as evaluator:
        results = evaluator.predict_each(some)
        next(results)
        if dies == "scheduler":
            cluster.kill_scheduler()
        else:
            for place in cluster.running():
                cluster.kill_worker(place)
        with pytest.raises(EnvironmentProblem, match=r"no Dask scheduler answers at tcp|has no workers\. Start"):
            list(results)


def test_workers_that_die_with_a_result_that_is_being_fetched_are_waited_for_only_so_long(
    open_evaluator, some, cluster, monkeypatch
):
    monkeypatch.setenv("REGNAS_DASK_PATIENCE", "1")
    finished = DaskCluster._until_finished

    def finish_and_kill(self, future):
        finished(self, future)
        for place in cluster.running():
            cluster.kill_worker(place)

    monkeypatch.setattr(DaskCluster, "_until_finished", finish_and_kill)
    with (
        closing(open_evaluator(f"dask={cluster.address}")) as evaluator,
        pytest.raises(EnvironmentProblem, match=r"has no workers\. Start"),
    ):
        list(evaluator.predict_each(some))


def test_a_stop_does_not_wait_for_workers(opened, some, cluster):
    results = opened.predict_each(some)
    next(results)
    for place in cluster.running():
        cluster.kill_worker(place)
    signals.ask_to_stop(2)
    with pytest.raises(Interrupted):
        list(results)


@pytest.mark.parametrize("text", ["0", "-1", "soon", "nan", "inf"])
def test_a_patience_must_be_a_number_of_seconds(open_evaluator, monkeypatch, text):
    monkeypatch.setenv("REGNAS_DASK_PATIENCE", text)
    with pytest.raises(ConfigurationError, match="REGNAS_DASK_PATIENCE must be a number of seconds above 0, got"):
        open_evaluator("dask=tcp://127.0.0.1:9")


@pytest.fixture
def without_regnas(tmp_path):
    """The arguments of an interpreter that has all installed packages but regnas."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "regnas" not in path.name and path.suffix != ".pth":
            (packages / path.name).symlink_to(path)
    program = "import sys, runpy; sys.path.append(sys.argv.pop(1)); name = sys.argv.pop(1); " + (
        "runpy.run_module(name, run_name='__main__', alter_sys=True)"
    )
    return ["-I", "-S", "-c", program, str(packages)]


@pytest.mark.parametrize("who", ["the scheduler", "the worker"])
def test_a_process_of_the_cluster_without_regnas_is_one_line(open_evaluator, tmp_path, without_regnas, who):
    started = []

    def start(name, module, *options):
        interpreter = without_regnas if name == who else ["-m"]
        command = [sys.executable, *interpreter, module, *map(str, options), "--no-dashboard"]
        # A new interpreter: what the other tests fork has imported regnas.
        started.append(subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL))

    ready = tmp_path / "scheduler.json"
    try:
        host = ("--host", "127.0.0.1", "--port", 0)
        start("the scheduler", "distributed.cli.dask_scheduler", *host, "--scheduler-file", ready)
        while not ready.exists():
            assert started[0].poll() is None
            time.sleep(0.05)
        address = json.loads(ready.read_text())["address"]
        start("the worker", "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", 1)
        process = "the scheduler" if who == "the scheduler" else r"tcp://127\.0\.0\.1:\d+"
        with pytest.raises(EnvironmentProblem, match=rf": {process} must have regnas \S+, as here, got no regnas\. "):
            open_evaluator(f"dask={address}")
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_workers_without_the_package_of_a_plug_in_are_one_line(cluster, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("class Source:\n    threads = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    source = importlib.import_module("only_here").Source()
    with (
        closing(DaskCluster(source, cluster.address)) as executor,
        pytest.raises(EnvironmentProblem, match=r"has no module only_here\. Install the same packages as here"),
    ):
        list(executor.run([[]]))


def test_a_wrong_address_is_refused_before_the_training(open_evaluator, cluster, monkeypatch):
    check_scheduler(cluster.address)
    monkeypatch.setenv(PATIENCE, "0.1")
    nowhere = cluster.address.rpartition(":")[0] + ":9"
    with pytest.raises(EnvironmentProblem, match=f"no Dask scheduler answers at {nowhere}"):
        check_scheduler(nowhere)


def test_a_scheduler_that_is_about_to_start_is_waited_for_before_the_training(cluster, monkeypatch):
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 0.1)
    cluster.kill_scheduler()
    starting = threading.Thread(target=cluster.start_scheduler)
    starting.start()
    try:
        check_scheduler(cluster.address)
    finally:
        starting.join()


def test_only_errors_of_tasks_are_printed(caplog):
    class Bug(Exception):
        pass

    async def failing(error):
        raise error

    async def forgotten():
        for error in (AllExit(), Bug()):
            task = asyncio.ensure_future(failing(error))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            del task
            gc.collect()

    with dask_cluster._quiet():
        pass  # complaints may come after the last call
    asyncio.run(forgotten())
    assert [type(record.exc_info[1]) for record in caplog.records if record.name == "asyncio"] == [Bug]
