from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from regnas.errors import BudgetInfeasible
from regnas.space import Budget, EvenSampler, sampler
from tests.space.mobile import mobile_space
from tests.space.toy import enumerate_space, toy_space

SPACE = mobile_space(2, 4)
LOW, HIGH = SPACE.macs_range


def part(space, network, budget, parts):
    return int(parts * (space.cost(network).macs - budget.min_macs) / (budget.max_macs - budget.min_macs + 1))


def test_every_slice_of_a_window_has_its_turn():
    budget = Budget(LOW, (LOW + HIGH) // 2)
    drawn = list(islice(EvenSampler(SPACE, budget, slices=10).in_turn(Random(0)), 30))
    parts = [part(SPACE, network, budget, 10) for network in drawn]
    assert [sorted(parts[start : start + 10]) for start in (0, 10, 20)] == [list(range(10))] * 3


def test_other_limits_of_the_budget_hold():
    budget = Budget(LOW, HIGH, max_parameters=1_150_000)
    drawn = list(islice(EvenSampler(SPACE, budget, slices=8).in_turn(Random(0)), 40))
    assert all(SPACE.cost(network) in budget for network in drawn)


def test_slices_that_only_rounding_makes_look_attainable_are_left_out(monkeypatch):
    """A window between two attainable sizes with room for rounding, beside a window that has networks."""
    space = toy_space(scale=1009)
    monkeypatch.setattr(sampler, "MOST_BINS", 37)
    monkeypatch.setattr(sampler, "MOST_REDRAWS", 50)
    budget = Budget(13 * 1009, 20 * 1009)
    existing = {network for network in enumerate_space(space) if space.cost(network) in budget}
    drawn = set(islice(EvenSampler(space, budget, slices=40).in_turn(Random(0)), 60))
    assert drawn <= existing
    assert len(drawn) > 3


def test_a_window_without_networks_is_refused():
    with pytest.raises(BudgetInfeasible, match="attainable range"):
        next(EvenSampler(SPACE, Budget(HIGH + 1, HIGH + 10)).in_turn(Random(0)))
