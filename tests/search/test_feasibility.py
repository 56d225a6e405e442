"""The order of candidates if flips are limited, and how a limit is written."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regnas.components.rate import format_rate, parse_rate
from regnas.search import Measures
from regnas.search.algorithms.nsga2 import _objectives
from regnas.search.feasibility import comparable_rewards, excess_over, standing, violation_of


@dataclass(frozen=True)
class Candidate:
    reward: float
    excess: float | None
    measures: Measures = field(default_factory=lambda: Measures(0.5, {"small": 0.1}))
    macs: int = 1000

    @property
    def violation(self):
        return violation_of(self.excess)


rates = st.floats(0, 1)
candidates = st.builds(
    Candidate,
    rates,
    st.none() | st.floats(-0.5, 0.5),
    st.builds(lambda top1, nfr: Measures(top1, {"small": nfr}), rates, rates),
    st.integers(500, 1000),
)


@given(candidates, candidates)
def test_constraint_domination(one, other):
    """By the three cases of its definition."""
    feasible = [each.excess is None or each.excess <= 0 for each in (one, other)]
    more_feasible = feasible[0] and not feasible[1]
    less_excess = not any(feasible) and one.excess < other.excess
    more_reward = all(feasible) and one.reward > other.reward
    if more_feasible or less_excess or more_reward:
        assert standing(one) < standing(other)


@given(st.lists(candidates, min_size=1, max_size=12))
def test_one_number_keeps_the_order_of_constraint_domination(told):
    values = comparable_rewards(told)
    for first, one in zip(values, told, strict=True):
        for second, other in zip(values, told, strict=True):
            assert (first > second) == (standing(one) < standing(other))
    if all(candidate.violation == 0 for candidate in told):
        assert values == [candidate.reward for candidate in told]


@given(st.lists(candidates, min_size=1, max_size=12))
def test_in_several_objectives_the_feasible_dominate_and_then_the_smaller_violation(told):
    def dominates(one, other):  # Top-1 is to be high, NFR and size low
        better = [one[0] - other[0], other[1] - one[1], other[2] - one[2]]
        return min(better) >= 0 and max(better) > 0

    values = _objectives(told, 1000)
    for mine, one in zip(values, told, strict=True):
        for yours, other in zip(values, told, strict=True):
            if one.violation + 1e-9 < other.violation:  # differences that a float near 1 still has
                assert dominates(mine, yours)
    assert all(
        mine[:2] == [one.measures.top1, one.measures.mean_nfr]
        for mine, one in zip(values, told, strict=True)
        if one.violation == 0
    )


def test_the_excess_is_that_of_the_worst_reference():
    measures = Measures(0.8, {"small": 0.02, "medium": 0.05})
    assert excess_over(0.03, measures) == pytest.approx(0.02)
    assert excess_over(0.06, measures) == pytest.approx(-0.01)
    assert excess_over(None, measures) is None
    assert excess_over(0.03, Measures(0.8, {})) is None
    assert violation_of(excess_over(0.06, measures)) == 0


@pytest.mark.parametrize(
    ("written", "rate"),
    [("1 %", 0.01), ("1%", 0.01), (" 0.5 % ", 0.005), (0.01, 0.01), (0, 0.0), ("0.02", 0.02), ("0 %", 0.0)],
)
def test_rates_are_texts_in_percent_or_fractions(written, rate):
    assert parse_rate(written) == rate


def test_a_limit_is_met_by_just_as_many_flips():
    """0.7 % of 1000 samples are 7 flips, and 7 / 1000 is not above the limit by a rounding error."""
    assert all(parse_rate(f"{tenths / 10} %") == tenths / 1000 for tenths in range(1, 1000))


@pytest.mark.parametrize(
    "written", ["", "x", "1 % %", -0.01, "-1 %", 1, 1.5, "100 %", "1000 %", True, None, "nan", "inf", [1]]
)
def test_other_rates_are_refused(written):
    with pytest.raises(ValueError, match='a rate must be a text such as "1 %"'):
        parse_rate(written)


def test_a_percentage_without_its_sign_is_refused_with_what_to_write():
    with pytest.raises(ValueError, match='For 2 percent write "2 %"'):
        parse_rate(2)


@pytest.mark.parametrize(("rate", "text"), [(0.01, "1 %"), (0.005, "0.5 %"), (0.0, "0 %"), (1 / 3, "33.3333 %")])
def test_rates_are_shown_in_percent(rate, text):
    assert format_rate(rate) == text
