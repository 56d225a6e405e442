"""Real worker processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import closing, suppress

import numpy as np
import pytest

from regnas.errors import ConfigurationError, EnvironmentProblem, Interrupted
from regnas.runtime import signals
from regnas.search.evaluation import ExecutorChoice
from tests.search.evaluation.executing import same_bits_until_closed, worker_processes

pytestmark = [pytest.mark.distributed, pytest.mark.slow]


def test_a_worker_that_is_killed_costs_its_candidates_time_and_nothing_else(open_evaluator, some, expected):
    with closing(open_evaluator("processes=2")) as evaluator:
        results = evaluator.predict_each(some[:16])
        found = [next(results).predicted]
        before = worker_processes()
        kill(before[0])
        found += [predictions.predicted for predictions in results]
        after = worker_processes()
        assert before[1] in after  # the other one went on
        assert before[0] not in after
        for idle in after:
            kill(idle)
        found += [predictions.predicted for predictions in evaluator.predict_each(some[16:])]
        assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def kill(process):
    """Kill a process and wait until it is dead, which takes a while on a busy machine."""
    with suppress(ProcessLookupError):  # gone already
        os.kill(process, signal.SIGKILL)
    while process in worker_processes():
        time.sleep(0.01)


def test_a_worker_that_dies_again_and_again_is_given_up_with_one_line(open_evaluator, some):
    with closing(open_evaluator("processes=2")) as evaluator:
        done = threading.Event()

        def kill_all():
            while not done.wait(0.01):  # sooner than a worker can start and answer
                for pid in worker_processes():
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill_all)
        killer.start()
        try:
            with pytest.raises(EnvironmentProblem, match="died 3 times with the same candidates"):
                list(evaluator.predict_each(some))
        finally:
            done.set()
            killer.join()


def test_a_stop_ends_the_workers(open_evaluator, some):
    evaluator = open_evaluator("processes=2")
    results = evaluator.predict_each(some)
    next(results)
    signals.ask_to_stop(signal.SIGINT)
    with pytest.raises(Interrupted):
        list(results)
    evaluator.close()
    assert worker_processes() == []


@pytest.mark.parametrize("choice", ["inline", "processes=2"])
def test_every_executor_predicts_the_same_bits_and_closed_it_holds_no_worker(open_evaluator, some, expected, choice):
    same_bits_until_closed(open_evaluator(choice), some, expected)


def test_a_scheduler_that_is_not_there_is_one_line(open_evaluator, monkeypatch):
    monkeypatch.setenv("REGNAS_DASK_PATIENCE", "1")
    with pytest.raises(EnvironmentProblem, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        open_evaluator("dask=tcp://127.0.0.1:9")


@pytest.mark.parametrize("text", ["", "threads", "processes", "processes=0", "processes=x", "dask=here", "inline=2"])
def test_other_executors_are_refused_with_the_known_ones(text):
    with pytest.raises(ConfigurationError, match="`executor` must be inline, processes=4 or dask=tcp://"):
        ExecutorChoice.parse(text)
