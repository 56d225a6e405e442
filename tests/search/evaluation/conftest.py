"""The supernet and the data of these tests, and candidates for them."""

from __future__ import annotations

from contextlib import closing
from random import Random

import pytest
import torch

from regnas.search.evaluation import CalibrationImages, Evaluator, ExecutorChoice, SupernetWeights
from regnas.search.evaluation.prefixes import in_prefix_order
from regnas.space import Budget, BudgetSampler
from tests.search.evaluation.fixtures import evaluator, no_signal_left, plugin, space, splits, supernet

__all__ = ["evaluator", "no_signal_left", "plugin", "space", "splits", "supernet"]


@pytest.fixture(scope="session")
def some(space):
    anywhere, random = BudgetSampler(space, Budget(*space.macs_range)), Random(8)
    return in_prefix_order({anywhere.sample(random) for _ in range(24)})


@pytest.fixture(scope="session")
def open_evaluator(plugin, supernet, splits):
    weights = SupernetWeights.of(supernet, plugin, splits.input_shape, 3)
    on_cpu = torch.device("cpu")
    images = CalibrationImages(64, 64)
    return lambda choice: Evaluator.on_executor(ExecutorChoice.parse(choice), weights, splits, images, on_cpu)


@pytest.fixture(scope="session")
def expected(open_evaluator, some):
    with closing(open_evaluator("inline")) as evaluator:
        return [predictions.predicted for predictions in evaluator.predict_each(some)]
