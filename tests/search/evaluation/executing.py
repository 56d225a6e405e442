"""What is asked of every executor."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np


def worker_processes():
    """Of this process and all its threads, by what the kernel says."""
    found = []
    for children in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # a thread or process may end meanwhile
            own = map(int, children.read_text().split())
            found += [pid for pid in own if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return found


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
