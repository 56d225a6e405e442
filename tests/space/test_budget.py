from __future__ import annotations

import pytest

from regnas.space import Budget, Cost, format_macs
from regnas.space.budget import UNLIMITED


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("300M +- 2 %", 294_000_000, 306_000_000),
        ("300M", 294_000_000, 306_000_000),
        ("0.2m±5%", 190_000, 210_000),
        ("1.5 k +- 10 %", 1_350, 1_650),
        ("<= 2G", 0, 2_000_000_000),
        ("<=500", 0, 500),
    ],
)
def test_budgets_are_read_as_windows(text, low, high):
    assert Budget.parse(text) == Budget(low, high)


@pytest.mark.parametrize("text", ["", "300 X", ">= 300M", "300M +- 2", "M", "300M + - 2 %", "-3M"])
def test_other_texts_are_refused_with_an_example(text):
    with pytest.raises(ValueError, match="a budget must be"):
        Budget.parse(text)


def test_a_window_holds_both_its_ends():
    budget = Budget(10, 20)
    assert [Cost(macs, 0) in budget for macs in (9, 10, 20, 21)] == [False, True, True, False]


def test_macs_are_shown_with_three_digits():
    assert [format_macs(macs) for macs in (999, 12_345, 1_234_567, 4_000_000_000)] == [
        "999",
        "12.3 k",
        "1.23 M",
        "4 G",
    ]


def test_parameters_and_latency_are_limited_after_a_comma_or_alone():
    assert Budget.parse("300M, <= 5.4M parameters, <= 12.5 ms") == Budget(294_000_000, 306_000_000, 5_400_000, 12.5)
    assert Budget.parse("<= 12 ms") == Budget(0, UNLIMITED, max_latency=12.0)
    assert str(Budget.parse("300M, <= 5.4M params, <= 12.5 ms")) == (
        "294 M to 306 M MACs, at most 5.4 M parameters, at most 12.5 ms"
    )


def test_each_resource_is_limited_once():
    with pytest.raises(ValueError, match="must limit MACs once"):
        Budget.parse("300M, <= 600M")


def test_every_limit_counts():
    budget = Budget(0, 100, max_parameters=10, max_latency=1.0)
    assert Cost(100, 10, 1.0) in budget
    assert all(cost not in budget for cost in (Cost(101, 10, 1.0), Cost(100, 11, 1.0), Cost(100, 10, 1.1)))


@pytest.mark.parametrize(
    ("large", "small", "exceeds"),
    [
        ("<= 2M", "<= 1M", True),
        ("<= 1M", "<= 1M", False),
        ("<= 9 ms", "<= 5 ms", True),
        ("<= 2M, <= 5 ms", "<= 1M, <= 9 ms", False),
        ("<= 2M", "<= 1M, <= 5M parameters", True),
    ],
)
def test_a_larger_budget_leaves_more_of_something_and_less_of_nothing(large, small, exceeds):
    assert Budget.parse(large).exceeds(Budget.parse(small)) == exceeds
