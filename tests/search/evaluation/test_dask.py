"""A real Dask cluster, which all tests of this file share."""

from __future__ import annotations

import os
import signal
from contextlib import closing

import numpy as np
import pytest

from tests.search.evaluation.executing import same_bits_until_closed

pytestmark = [pytest.mark.distributed, pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster():
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", processes=True) as running:
        yield running


def test_a_dask_cluster_predicts_the_same_bits_and_closed_its_workers_stay(open_evaluator, some, expected, cluster):
    same_bits_until_closed(open_evaluator(f"dask={cluster.scheduler_address}"), some, expected)


def test_a_dask_worker_that_is_killed_is_replaced(open_evaluator, some, expected, cluster):
    with closing(open_evaluator(f"dask={cluster.scheduler_address}")) as evaluator:
        results = evaluator.predict_each(some)
        found = [next(results).predicted]
        victim = next(iter(cluster.workers.values()))
        os.kill(victim.process.pid, signal.SIGKILL)
        found += [predictions.predicted for predictions in results]
        assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
