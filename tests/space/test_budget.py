from __future__ import annotations

import pytest

from regnas.space import Budget, format_macs


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
def test_what_is_no_budget_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match="is no budget: write"):
        Budget.parse(text)


def test_a_window_holds_both_its_ends():
    budget = Budget(10, 20)
    assert [macs in budget for macs in (9, 10, 20, 21)] == [False, True, True, False]


def test_macs_are_shown_with_three_digits():
    assert [format_macs(macs) for macs in (999, 12_345, 1_234_567, 4_000_000_000)] == [
        "999",
        "12.3 k",
        "1.23 M",
        "4 G",
    ]
