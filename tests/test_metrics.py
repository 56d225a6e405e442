"""Flip rates as torchmetrics: against numpy, in batches, merged, and over two processes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

from benchmarks.processes import PythonProcess  # noqa: E402
from regnas.metrics import NegativeFlipRate, PositiveFlipRate, RelativeNegativeFlipRate  # noqa: E402

METRICS = (NegativeFlipRate, PositiveFlipRate, RelativeNegativeFlipRate)


def expected(new, old, target):
    """By numpy; the relative rate is 0 if nothing can flip."""
    lost, gained = (old == target) & (new != target), (old != target) & (new == target)
    chance = (old == target).mean() * (new != target).mean()
    return lost.mean(), gained.mean(), lost.mean() / chance if chance else 0.0


columns = st.integers(1, 30).flatmap(lambda n: st.tuples(*[st.lists(st.integers(0, 2), min_size=n, max_size=n)] * 3))


@given(columns, st.integers(1, 30))
def test_batches_give_what_numpy_says_of_all_samples(values, size):
    new, old, target = (torch.tensor(each) for each in values)
    for metric, reference in zip(METRICS, expected(*map(np.array, values)), strict=True):
        counted = metric()
        for start in range(0, len(target), size):
            part = slice(start, start + size)
            counted.update(new[part], old[part], target[part])
        assert counted.compute().item() == pytest.approx(reference, rel=1e-6)


@given(columns, columns)
def test_merged_states_are_those_of_all_samples(first, second):
    whole = [np.concatenate(each) for each in zip(first, second, strict=True)]
    for metric, reference in zip(METRICS, expected(*whole), strict=True):
        parts = [metric(), metric()]
        for part, values in zip(parts, (first, second), strict=True):
            part.update(*(torch.tensor(each) for each in values))
        parts[0].merge_state(parts[1])
        assert parts[0].compute().item() == pytest.approx(reference, rel=1e-6)


def test_scores_count_by_their_highest_and_forward_is_the_rate_of_the_batch():
    metric = NegativeFlipRate()
    scores, target = torch.eye(3)[[0, 1, 2]], torch.tensor([0, 1, 2])
    assert metric(torch.tensor([0, 0, 2]), scores, target).item() == pytest.approx(1 / 3)
    assert metric(target, scores.log_softmax(1), target).item() == 0
    assert metric.compute().item() == pytest.approx(1 / 6)
    metric.reset()
    assert metric.samples.item() == 0


def test_counts_are_exact_beyond_the_precision_of_floats():
    metric = NegativeFlipRate()
    metric.samples, metric.negative_flips = torch.tensor(2**24), torch.tensor(2**24)
    metric.update(torch.tensor([0]), torch.tensor([1]), torch.tensor([1]))
    assert metric.negative_flips.item() == 2**24 + 1


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (
            torch.tensor([0, 1]),
            r"preds_new must be classes of shape \[3\] as integers, or scores .*, got torch.int64 \[2\]",
        ),
        (torch.tensor([0.2, 0.4, 0.9]), r"got torch.float32 \[3\]"),
        (torch.zeros(3, 1), r"got torch.float32 \[3, 1\]"),
        (torch.zeros(3, 2, dtype=torch.int64), r"got torch.int64 \[3, 2\]"),
    ],
)
def test_predictions_that_do_not_fit_are_refused_and_count_nothing(new, message):
    metric, target = NegativeFlipRate(), torch.tensor([0, 1, 1])
    with pytest.raises(ValueError, match=message):
        metric.update(new, target, target)
    assert metric.samples.item() == 0
    with pytest.raises(ValueError, match=r"target must be classes of shape \[N\] as integers"):
        metric.update(target, target, target.float())


WORKER = """
import json, sys
import torch, torch.distributed as dist
from regnas.metrics import NegativeFlipRate, PositiveFlipRate, RelativeNegativeFlipRate
rank, store = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
random = torch.Generator().manual_seed(7)
new, old, target = torch.randint(0, 3, (3, 50), generator=random)
part = slice(0, 13) if rank == 0 else slice(13, 50)  # of unequal size
found = []
for kind in (NegativeFlipRate, PositiveFlipRate, RelativeNegativeFlipRate):
    metric = kind()
    metric.update(new[part], old[part], target[part])
    found.append(metric.compute().item())
    assert metric.samples.item() == len(target[part])  # its own samples again after the rate of all
print(json.dumps([found, new.tolist(), old.tolist(), target.tolist()]))
dist.destroy_process_group()
"""


def test_two_processes_compute_the_rate_of_all_samples(tmp_path):
    import json

    processes = [PythonProcess("-c", WORKER, rank, tmp_path / "store") for rank in range(2)]
    outcomes = [process.finish() for process in processes]
    assert [outcome.code for outcome in outcomes] == [0, 0], outcomes
    for outcome in outcomes:
        found, new, old, target = json.loads(outcome.stdout)
        assert found == pytest.approx(expected(*map(np.array, (new, old, target))), rel=1e-6)


def test_without_torchmetrics_the_extra_is_named():
    code = """
import sys
sys.modules["torchmetrics"] = None
import regnas
try:
    regnas.metrics
except regnas.RegnasError as error:
    print(error.exit_code, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        done.stdout
        == "5 regnas.metrics needs torchmetrics, which is not installed. Run: pip install 'regnas[metrics]'\n"
    )
