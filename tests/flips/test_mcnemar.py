"""The exact test on discordant samples."""

from __future__ import annotations

import subprocess
import sys
from math import comb

import pytest
from hypothesis import given, settings
from scipy.stats import binomtest

from regnas.flips import mcnemar_exact

from .helpers import answers, correctness_rows, from_rows, shuffled


def test_worked_by_hand() -> None:
    # One flip to wrong, five to right: p = 2 * (C(6,0) + C(6,1)) / 2^6 = 14 / 64.
    old, new = answers("1000001100"), answers("0111111100")
    assert mcnemar_exact(old, new) == pytest.approx(14 / 64, abs=1e-12)
    assert mcnemar_exact(old, shuffled(new, 3)) == mcnemar_exact(old, new)


def test_no_discordant_sample_gives_one() -> None:
    assert mcnemar_exact(answers("1100"), answers("1100")) == 1.0


def test_equal_counts_in_both_directions_give_one() -> None:
    assert mcnemar_exact(answers("1100"), answers("0011")) == pytest.approx(1.0)


def test_each_cluster_has_one_vote() -> None:
    # Clusters 0 and 1 lose two samples each, cluster 2 gains one, cluster 3 loses one and gains one: 2 against 1.
    groups = [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    old, new = answers("1111110010", "old", groups), answers("1001001001", "new", groups)
    assert mcnemar_exact(old, new) == pytest.approx(1.0)  # 2 * (1 + 3) / 2^3
    independent = mcnemar_exact(answers("1111110010"), answers("1001001001"))
    assert independent == pytest.approx(58 / 128)  # 5 against 2: 2 * (1 + 7 + 21) / 2^7


@settings(deadline=None)
@given(correctness_rows(models=2))
def test_equals_the_binomial_sum_and_scipy(rows: list[list[bool]]) -> None:
    lost = sum(a and not b for a, b in zip(*rows, strict=True))
    gained = sum(b and not a for a, b in zip(*rows, strict=True))
    tail = sum(comb(lost + gained, k) for k in range(min(lost, gained) + 1)) / 2 ** (lost + gained)
    p = mcnemar_exact(*from_rows(rows))
    assert p == pytest.approx(min(1.0, 2 * tail), abs=1e-9)
    if lost + gained:
        assert p == pytest.approx(binomtest(gained, lost + gained).pvalue, abs=1e-12)


def test_the_package_loads_neither_torch_nor_scipy() -> None:
    code = "import sys, regnas.flips; print(sorted({'torch', 'scipy'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
