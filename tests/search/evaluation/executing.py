"""Requirements on every executor."""

from __future__ import annotations

from multiprocessing import active_children

import numpy as np


def worker_processes():
    """The process numbers of the workers that run, in the order in which they were started."""
    return sorted(child.pid for child in active_children())


def same_bits_until_closed(evaluator, some, expected):
    """The baselines are trained while the evaluator of the search is still in use for networks, and closed again."""
    before = worker_processes()
    found = [predictions.predicted for predictions in evaluator.predict_each(some)]
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    assert evaluator.forward_seconds > 0
    evaluator.close()
    assert worker_processes() == before
    assert not evaluator.network(some[0]).training
    evaluator.close()
