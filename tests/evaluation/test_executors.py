"""Real worker processes and a real Dask cluster."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from regnas.errors import ConfigurationError, EnvironmentProblem, Interrupted
from regnas.evaluation import Evaluator, ExecutorChoice, SupernetWeights
from regnas.evaluation.prefixes import in_prefix_order
from regnas.runtime import signals
from regnas.space import Budget, BudgetSampler

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def some(space):
    anywhere, random = BudgetSampler(space, Budget(*space.macs_range)), Random(8)
    return in_prefix_order({anywhere.sample(random) for _ in range(24)})


@pytest.fixture
def open_evaluator(plugin, supernet, splits):
    weights = SupernetWeights.of(supernet, plugin, splits.input_shape, 3)
    return lambda choice: Evaluator.on_executor(ExecutorChoice.parse(choice), weights, splits, 64, CPU)


@pytest.fixture
def expected(open_evaluator, some):
    with closing(open_evaluator("inline")) as evaluator:
        return [predictions.predicted for predictions in evaluator.predict_each(some)]


def same(evaluator, some, expected):
    found = [predictions.predicted for predictions in evaluator.predict_each(some)]
    return all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


@pytest.fixture
def cluster():
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as running:
        yield running


def test_worker_processes_predict_the_same_bits(open_evaluator, some, expected):
    with closing(open_evaluator("processes=2")) as evaluator:
        assert same(evaluator, some, expected)
        assert evaluator.forward_seconds > 0


def test_a_dask_cluster_predicts_the_same_bits(open_evaluator, some, expected, cluster):
    with closing(open_evaluator(f"dask={cluster.scheduler_address}")) as evaluator:
        assert same(evaluator, some, expected)


def worker_processes():
    """Of this process and all its threads, by what the kernel says."""
    found = []
    for children in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # a thread or process may end meanwhile
            own = map(int, children.read_text().split())
            found += [pid for pid in own if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return found


def test_a_worker_that_is_killed_costs_its_candidates_time_and_nothing_else(open_evaluator, some, expected):
    with closing(open_evaluator("processes=2")) as evaluator:
        results = evaluator.predict_each(some)
        found = [next(results).predicted]
        before = worker_processes()
        os.kill(before[0], signal.SIGKILL)
        found += [predictions.predicted for predictions in results]
        assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
        after = worker_processes()
        assert before[1] in after  # the other one went on
        assert before[0] not in after


def test_a_worker_that_dies_again_and_again_is_given_up_with_one_line(open_evaluator, some):
    with closing(open_evaluator("processes=2")) as evaluator:
        done = threading.Event()

        def kill_all():
            while not done.wait(0.2):
                for pid in worker_processes():
                    os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill_all)
        killer.start()
        try:
            with pytest.raises(EnvironmentProblem, match="died 3 times over the same candidates"):
                list(evaluator.predict_each(some))
        finally:
            done.set()
            killer.join()


def test_a_dask_worker_that_is_killed_is_replaced(open_evaluator, some, expected, cluster):
    with closing(open_evaluator(f"dask={cluster.scheduler_address}")) as evaluator:
        results = evaluator.predict_each(some)
        found = [next(results).predicted]
        victim = next(iter(cluster.workers.values()))
        os.kill(victim.process.pid, signal.SIGKILL)
        found += [predictions.predicted for predictions in results]
        assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_a_stop_ends_the_workers(open_evaluator, some):
    evaluator = open_evaluator("processes=2")
    results = evaluator.predict_each(some)
    next(results)
    signals.ask_to_stop(signal.SIGINT)
    with pytest.raises(Interrupted):
        list(results)
    evaluator.close()
    assert worker_processes() == []


@pytest.mark.parametrize("choice", ["inline", "processes=2", "dask"])
def test_an_evaluator_that_was_closed_holds_no_worker_and_still_gives_networks(
    open_evaluator, some, cluster, choice
):
    """The baselines are trained while the evaluator of the search is still in use for networks, and closed again."""
    evaluator = open_evaluator(f"dask={cluster.scheduler_address}" if choice == "dask" else choice)
    before = worker_processes()
    list(evaluator.predict_each(some[:8]))
    evaluator.close()
    assert worker_processes() == before
    assert not evaluator.network(some[0]).training
    evaluator.close()


def test_a_scheduler_that_is_not_there_is_one_line(open_evaluator, monkeypatch):
    monkeypatch.setattr("regnas.evaluation.executors.CONNECT_SECONDS", 1)
    with pytest.raises(EnvironmentProblem, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        open_evaluator("dask=tcp://127.0.0.1:9")


@pytest.mark.parametrize("text", ["", "threads", "processes", "processes=0", "processes=x", "dask=here", "inline=2"])
def test_other_executors_are_refused_with_the_known_ones(text):
    with pytest.raises(ConfigurationError, match="--executor takes inline, processes=4 or dask=tcp://"):
        ExecutorChoice.parse(text)
