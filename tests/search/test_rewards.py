from __future__ import annotations

import pytest

from regnas.search import REWARDS, Measures

MEASURES = Measures(top1=0.8, nfr={"small": 0.02, "medium": 0.04})


@pytest.mark.parametrize(
    ("name", "settings", "value"),
    [
        ("R0", {}, 0.8),
        ("R1", {}, -0.03),
        ("R2", {}, 0.77),
        ("R2", {"l1": 2.0, "l2": 10.0}, 1.3),
        ("R2", {"l2": 0.0}, 0.8),
    ],
)
def test_rewards_by_hand(name, settings, value):
    assert REWARDS[name](**settings)(MEASURES) == pytest.approx(value)


def test_without_references_there_are_no_flips():
    assert REWARDS["R2"]()(Measures(0.7, {})) == pytest.approx(0.7)
    assert REWARDS["R1"]()(Measures(0.7, {})) == 0
