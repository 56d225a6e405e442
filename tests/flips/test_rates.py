"""Rates against hand-worked values and against plain loops."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regnas.errors import ArtifactError
from regnas.flips import (
    ClassFlips,
    Predictions,
    backward_error_compatibility,
    backward_trust_compatibility,
    negative_flip_rate,
    per_class_negative_flip_rate,
    positive_flip_rate,
    relative_change,
    relative_negative_flip_rate,
)

from .helpers import answers, correctness_rows, from_rows, shuffled

RATES = [
    negative_flip_rate,
    positive_flip_rate,
    relative_negative_flip_rate,
    backward_trust_compatibility,
    backward_error_compatibility,
]
Rate = Callable[[Predictions, Predictions], float]


def test_worked_by_hand() -> None:
    old = answers("1111100000")  # right on 5 of 10
    new = answers("1110011110")  # loses 2, gains 4, wrong on 3
    assert negative_flip_rate(old, new) == 0.2
    assert positive_flip_rate(old, new) == 0.4
    assert relative_negative_flip_rate(old, new) == pytest.approx(0.2 / (0.5 * 0.3), abs=1e-15)
    assert backward_trust_compatibility(old, new) == 0.6  # 3 of 5 stay right
    assert backward_error_compatibility(old, new) == pytest.approx(1 / 3, abs=1e-15)  # 1 of 3 errors is an old one


def test_two_different_mistakes_are_not_a_flip() -> None:
    targets = np.array([0])
    old = Predictions("old", np.arange(1), targets, np.array([1]))
    new = Predictions("new", np.arange(1), targets, np.array([2]))
    assert negative_flip_rate(old, new) == 0.0
    assert positive_flip_rate(old, new) == 0.0


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # NFR, PFR, relative NFR, BTC, BEC; the ratios that are 0 / 0 take the value of a model that breaks nothing
        ("000", "000", (0.0, 0.0, 0.0, 1.0, 1.0)),
        ("000", "111", (0.0, 1.0, 0.0, 1.0, 1.0)),
        ("111", "111", (0.0, 0.0, 0.0, 1.0, 1.0)),
        ("111", "000", (1.0, 0.0, 1.0, 0.0, 0.0)),
    ],
)
def test_extreme_models(old: str, new: str, expected: tuple[float, ...]) -> None:
    assert tuple(rate(answers(old), answers(new)) for rate in RATES) == expected


def slow_rates(old: list[bool], new: list[bool]) -> list[float]:
    samples = len(old)
    lost = gained = old_right = new_wrong = 0
    for before, after in zip(old, new, strict=True):
        lost += before and not after
        gained += after and not before
        old_right += before
        new_wrong += not after
    nfr = lost / samples
    return [
        nfr,
        gained / samples,
        nfr / ((old_right / samples) * (new_wrong / samples)) if old_right and new_wrong else 0.0,
        1 - lost / old_right if old_right else 1.0,
        1 - lost / new_wrong if new_wrong else 1.0,
    ]


@settings(deadline=None)
@given(correctness_rows(models=2))
def test_equal_to_plain_loops(rows: list[list[bool]]) -> None:
    old, new = from_rows(rows)
    assert [rate(old, new) for rate in RATES] == pytest.approx(slow_rates(*rows), abs=1e-12)


@settings(deadline=None)
@given(correctness_rows(models=2))
def test_error_of_new_is_error_of_reference_plus_nfr_minus_pfr(rows: list[list[bool]]) -> None:
    old, new = from_rows(rows)
    change = negative_flip_rate(old, new) - positive_flip_rate(old, new)
    assert new.error_rate == pytest.approx(old.error_rate + change, abs=1e-12)


@settings(deadline=None)
@given(rows=correctness_rows(models=2), seed=st.integers(0, 10_000))
def test_order_of_the_samples_changes_nothing(rows: list[list[bool]], seed: int) -> None:
    old, new = from_rows(rows)
    for rate in RATES:
        assert rate(shuffled(old, seed), shuffled(new, seed + 1)) == rate(old, new)
    assert per_class_negative_flip_rate(old, shuffled(new, seed)) == per_class_negative_flip_rate(old, new)


@pytest.mark.parametrize("rate", [*RATES, per_class_negative_flip_rate])
def test_models_on_different_samples_are_refused(rate: Rate) -> None:
    with pytest.raises(ArtifactError, match="not evaluated on the same samples"):
        rate(answers("111"), answers("11"))


def test_per_class_by_hand() -> None:
    targets = np.array([3, 3, 3, 3, 8, 8])
    old = Predictions("old", np.arange(6), targets, np.array([3, 3, 3, 0, 0, 8]))
    new = Predictions("new", np.arange(6), targets, np.array([3, 8, 3, 3, 8, 8]))
    flips = per_class_negative_flip_rate(old, new)
    assert flips == {3: ClassFlips(4, 0.25), 8: ClassFlips(2, 0.0)}
    overall = sum(each.samples * each.negative_flip_rate for each in flips.values()) / 6
    assert overall == pytest.approx(negative_flip_rate(old, new), abs=1e-15)


def test_relative_change() -> None:
    assert relative_change(0.03, 0.04) == pytest.approx(-0.25)
    assert relative_change(0.06, 0.04) == pytest.approx(0.5)
    assert relative_change(0.0, 0.0) == 0.0
    assert relative_change(0.1, 0.0) == math.inf
