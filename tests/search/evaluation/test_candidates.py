"""Candidates that run together have the same results as candidates that run alone."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
import torch
from torch import nn

from regnas.networks import fold_batch_norms, folding_is_exact
from regnas.search.evaluation import CalibrationImages, Evaluator
from regnas.search.evaluation.candidates import CandidateRunner
from regnas.search.evaluation.prefixes import in_prefix_order, parts_trees
from regnas.space import Budget, BudgetSampler
from regnas.training import calibrate, logits_of, prepare_batch, spread_images

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def some(space):
    anywhere, random = BudgetSampler(space, Budget(*space.macs_range)), Random(5)
    return in_prefix_order({anywhere.sample(random) for _ in range(30)})


@pytest.fixture(scope="module")
def runner(supernet, splits):
    return CandidateRunner(supernet, spread_images(splits.train, 64), splits.search.images, splits.preprocessing, CPU)


def alone(architecture, supernet, splits):
    """Extract, calibrate, run: without sharing, without folding."""
    network = supernet.extract(architecture)
    calibrate(network, prepare_batch(spread_images(splits.train, 64), splits.preprocessing, CPU))
    return logits_of(network, prepare_batch(splits.search.images, splits.preprocessing, CPU))


def test_candidates_that_are_run_together_predict_what_each_predicts_alone(some, runner, supernet, splits):
    predicted, seconds = runner.run(some)
    assert seconds > 0
    for architecture, together in zip(some, predicted, strict=True):
        logits = alone(architecture, supernet, splits)
        top, second = logits.topk(2).values.unbind(1)
        clear = (top - second).numpy() > 1e-4  # folding rounds: only an exact tie may be decided otherwise
        assert clear.mean() > 0.95
        assert np.array_equal(together[clear], logits.argmax(1).numpy()[clear])


def test_grouping_changes_no_bit(some, runner):
    """The results of the search do not depend on how candidates are distributed over workers."""
    together, _ = runner.run(some)
    for size in (1, 5):
        groups = [some[start : start + size] for start in range(0, len(some), size)]
        apart = [predicted for group in groups for predicted in runner.run(group)[0]]
        assert all(np.array_equal(one, other) for one, other in zip(together, apart, strict=True))


def test_what_candidates_share_is_run_once(some, supernet):
    trees = parts_trees(some, supernet.extract)
    nodes = [node for tree in trees for node in tree.nodes()]
    prefixes = {
        tuple(list(architecture.blocks())[:end])
        for architecture in some
        for end in range(len(list(architecture.blocks())) + 1)
    }
    ends = len(set(some))
    assert len(nodes) == len(prefixes) + ends  # a part for every different beginning, and every end
    assert len(nodes) < sum(len(list(architecture.blocks())) + 2 for architecture in some)
    assert sorted(node.index for node in nodes if node.index is not None) == list(range(len(some)))


def test_a_network_that_comes_in_one_piece_is_run_whole(some, supernet, splits, runner):
    class Whole(nn.Module):
        def __init__(self, network):
            super().__init__()
            self.network = network

        def forward(self, images):
            return self.network(images)

    class WholeSupernet:
        def extract(self, architecture):
            return Whole(supernet.extract(architecture))

    whole = CandidateRunner(
        WholeSupernet(), spread_images(splits.train, 64), splits.search.images, splits.preprocessing, CPU
    )
    expected, _ = runner.run(some[:4])
    for one, other in zip(whole.run(some[:4])[0], expected, strict=True):
        assert np.array_equal(one, other)


def test_the_supernet_is_left_as_it_was(some, supernet, splits):
    before = {name: tensor.clone() for name, tensor in supernet.state_dict().items()}
    list(Evaluator.in_process(supernet, splits, CalibrationImages(64, 64), CPU).predict_each(some[:3]))
    assert all(torch.equal(tensor, before[name]) for name, tensor in supernet.state_dict().items())


class PostNorm(nn.Module):
    def __init__(self, norm_first):
        super().__init__()
        torch.manual_seed(0)
        self.norm_first = norm_first
        self.conv = nn.Conv2d(3, 3, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(3)
        with torch.no_grad():
            for tensor in (self.norm.weight, self.norm.bias, self.norm.running_mean):
                tensor.normal_()
            self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        return (self.conv(self.norm(x)) if self.norm_first else self.norm(self.conv(x))).mean((2, 3))


def test_folding_leaves_the_function_and_no_norm():
    network, images = PostNorm(norm_first=False).eval(), torch.randn(4, 3, 6, 6)
    before = network(images)
    folded = fold_batch_norms(network)
    assert not any(isinstance(module, nn.BatchNorm2d) for module in folded.modules())
    torch.testing.assert_close(folded(images), before, rtol=1e-5, atol=1e-5)


def test_a_network_that_registers_its_norms_in_another_order_is_noticed():
    images = torch.randn(4, 3, 6, 6)
    assert folding_is_exact(PostNorm(norm_first=False).eval(), images)
    assert not folding_is_exact(PostNorm(norm_first=True).eval(), images)


def test_neighbors_in_the_order_share_the_longest_beginnings(some):
    def shared(one, other):
        pairs = zip(one.blocks(), other.blocks(), strict=False)
        return next((place for place, (a, b) in enumerate(pairs) if a != b), 99)

    ordered = in_prefix_order(some[::-1])
    assert ordered == some
    for first, second, third in zip(ordered, ordered[1:], ordered[2:], strict=False):
        assert shared(first, third) <= min(shared(first, second), shared(second, third))
