"""A real Dask cluster, whose processes die."""

from __future__ import annotations

import threading
from contextlib import closing
from itertools import count

import numpy as np
import pytest

from benchmarks.reliability.dask_processes import Cluster
from regnas.errors import ConfigurationError, EnvironmentProblem, Interrupted
from regnas.runtime import signals
from regnas.search.evaluation.dask_cluster import DaskCluster
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
    """With two workers and a scheduler, whatever the tests before have killed."""
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
def test_a_patience_that_is_no_number_of_seconds_is_refused(open_evaluator, monkeypatch, text):
    monkeypatch.setenv("REGNAS_DASK_PATIENCE", text)
    with pytest.raises(ConfigurationError, match="REGNAS_DASK_PATIENCE must be a number of seconds above 0, got"):
        open_evaluator("dask=tcp://127.0.0.1:9")
