from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from regnas.errors import BudgetInfeasible
from regnas.space import Budget, BudgetSampler, contains, sampler
from tests.space.toy import enumerate_space, sized_space, toy_space

SPACE = toy_space()
ALL = enumerate_space(SPACE)
LOW, HIGH = SPACE.macs_range
windows = st.tuples(st.integers(0, HIGH + 10), st.integers(0, HIGH + 10)).map(sorted).map(lambda ends: Budget(*ends))


def inside(space, budget):
    return [network for network in enumerate_space(space) if space.cost(network) in budget]


@given(windows)
def test_the_count_is_that_of_an_exhaustive_look(budget):
    assert BudgetSampler(SPACE, budget).count == len(inside(SPACE, budget))


@given(windows, st.integers(0, 2**32))
def test_every_draw_is_inside_and_an_empty_window_is_refused_with_the_range(budget, seed):
    drawable = BudgetSampler(SPACE, budget)
    if inside(SPACE, budget):
        assert SPACE.cost(drawable.sample(Random(seed))) in budget
    else:
        with pytest.raises(BudgetInfeasible, match=f"attainable range is {LOW} to {HIGH} MACs"):
            drawable.sample(Random(seed))


def test_draws_are_uniform():
    budget = Budget(30, 60)
    drawable = BudgetSampler(SPACE, budget)
    random = Random(7)
    counts = Counter(drawable.sample(random) for _ in range(20_000))
    expected = inside(SPACE, budget)
    assert set(counts) == set(expected)
    assert chisquare([counts[network] for network in expected]).pvalue > 0.01


@given(st.sampled_from(ALL), st.integers(0, 2**32))
def test_draws_above_a_floor_contain_it_without_rejection(floor, seed):
    budget = Budget(SPACE.cost(floor).macs, HIGH)
    assert contains(BudgetSampler(SPACE.above(floor), budget).sample(Random(seed)), floor)


@given(st.integers(0, 2**32))
def test_with_too_many_costs_for_exact_bins_draws_still_stay_inside(seed):
    space = toy_space(scale=1009)
    budget = Budget(30 * 1009 + 5, 60 * 1009 - 5)
    original = sampler.MOST_BINS
    sampler.MOST_BINS = 37  # forces rounding
    try:
        drawable = BudgetSampler(space, budget)
        assert drawable.count >= len(inside(space, budget))
        assert space.cost(drawable.sample(Random(seed))) in budget
    finally:
        sampler.MOST_BINS = original


limits = st.tuples(st.integers(0, 70), st.integers(1, 16)).map(lambda ends: Budget(ends[0], HIGH, ends[1]))


@given(limits, st.integers(0, 2**32))
def test_a_limit_on_parameters_holds_beside_the_window_on_macs(budget, seed):
    drawable = BudgetSampler(SPACE, budget)
    if inside(SPACE, budget):
        assert drawable.count >= len(inside(SPACE, budget))
        assert SPACE.cost(drawable.sample(Random(seed))) in budget
    else:
        with pytest.raises(BudgetInfeasible):
            drawable.sample(Random(seed))


def test_draws_under_two_limits_are_uniform():
    budget = Budget(30, 60, max_parameters=8)
    drawable = BudgetSampler(SPACE, budget)
    random = Random(7)
    counts = Counter(drawable.sample(random) for _ in range(20_000))
    expected = inside(SPACE, budget)
    assert 5 < len(expected) < len(inside(SPACE, Budget(30, 60)))
    assert set(counts) == set(expected)
    assert chisquare([counts[network] for network in expected]).pvalue > 0.01


def test_the_resolution_is_drawn_in_proportion_to_what_it_leaves():
    space = sized_space()
    budget = Budget(40, 90)
    drawable = BudgetSampler(space, budget)
    random = Random(11)
    counts = Counter(drawable.sample(random) for _ in range(20_000))
    expected = inside(space, budget)
    assert {network.resolution for network in expected} == {1, 2, 3}
    assert drawable.count == len(expected)
    assert set(counts) == set(expected)
    assert chisquare([counts[network] for network in expected]).pvalue > 0.01


def test_the_same_seed_draws_the_same():
    drawable = BudgetSampler(SPACE, Budget(0, HIGH))
    first, second = ([drawable.sample(random) for _ in range(20)] for random in (Random(3), Random(3)))
    assert first == second
