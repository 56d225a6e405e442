"""Which point of the line is taken if flips are limited."""

from __future__ import annotations

from pathlib import Path

import pytest

from regnas.family.polishing import Point, Polished, Polisher, Polishing, prefer
from regnas.search import OLD, REWARDS
from tests.search.stub import nfr, predictions


def point(alpha, reward, *rates):
    pairs = {f"pair {index}": rate for index, rate in enumerate(rates)}
    return Point(alpha, {"small": 0.8, "large": 0.9}, pairs, reward)


POINTS = [
    point(None, 0.5, 0.01, 0.009),
    point(0.0, 0.9, 0.02, 0.0),
    point(0.5, 0.7, 0.01, 0.01),
    point(1.0, 0.6, 0.0, 0.0),
]


@pytest.mark.parametrize(
    ("limit", "alpha"),
    [(None, 0.0), (0.02, 0.0), (0.01, 0.5), (0.009, 1.0), (0.0, 1.0)],
)
def test_a_point_that_meets_the_limit_comes_before_one_with_a_higher_reward(limit, alpha):
    assert prefer(POINTS, limit).alpha == alpha


def test_where_none_meets_the_limit_the_nearest_is_taken():
    assert prefer(POINTS[:3], 0.001).alpha == 0.5  # of two that are as near, the higher reward
    assert prefer(POINTS[:2], 0.001).alpha is None


def test_the_summary_says_whether_the_limit_is_met():
    def summary(chosen, limit):
        return Polished(tuple(POINTS), chosen, False, None, 0, limit).summary

    assert summary(POINTS[2], 0.01).endswith("the highest NFR, 1.00 %, is within 1 %")
    assert summary(POINTS[1], 0.01).endswith("the highest NFR, 2.00 %, exceeds 1 %")
    assert "highest NFR" not in summary(POINTS[1], None)


def test_flips_from_old_predictions_are_pairs_of_every_point():
    correct = {"small": [1, 1, 0, 0], "large": [1, 0, 1, 0]}
    own = {name: predictions([bool(mark) for mark in marks], name) for name, marks in correct.items()}
    old = predictions([True, True, False, True], OLD)

    class Fixed:
        def predict_each(self, architectures):
            return [own[name] for name in architectures]

    polisher = Polisher(
        Polishing(), None, None, REWARDS["R2"](), None, lambda weights: Fixed(), (0,), Path(), 0.1, {OLD: old}
    )
    measured = polisher._measured({"small": "small", "large": "large"}, 0.5, None)
    assert measured.nfr == {f"{OLD} > small": 1 / 4, f"{OLD} > large": 2 / 4, "small > large": 1 / 4}
    assert nfr(old.correct, own["large"].correct) == 2 / 4
    assert measured.reward == pytest.approx(0.5 - 1 / 3)
