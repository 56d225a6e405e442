"""Rates, intervals and tests of every pair, against counts by hand and the functions for two models."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regnas.comparison.comparison import compare_joined
from regnas.flips import holm, mcnemar_exact, relative_negative_flip_rate
from regnas.flips.closed_forms import rate_interval
from tests.flips.helpers import answers

from .helpers import joined


def test_every_ordered_pair_by_hand():
    comparison = compare_joined(joined("1110000000", "1000110000", "1111111111"))
    assert [(pair.reference, pair.new) for pair in comparison.pairs] == [
        ("model-0", "model-1"), ("model-0", "model-2"), ("model-1", "model-0"),
        ("model-1", "model-2"), ("model-2", "model-0"), ("model-2", "model-1"),
    ]  # fmt: skip
    pair = comparison["model-0", "model-1"]
    assert (pair.negative_flips, pair.positive_flips) == (2, 2)
    assert (pair.nfr, pair.pfr) == (0.2, 0.2)
    assert (pair.reference_error_rate, pair.new_error_rate) == (0.7, 0.7)
    assert pair.relative_nfr == pytest.approx(0.2 / (0.3 * 0.7))
    assert pair.accuracy_difference == 0
    assert pair.mcnemar_p == 1
    low, high = rate_interval(0.2, 10)
    assert pair.nfr_interval == (float(low), float(high))
    better = comparison["model-0", "model-2"]
    assert (better.nfr, better.pfr, better.relative_nfr, better.accuracy_difference) == (0, 0.7, 0, 0.7)
    assert better.mcnemar_p == pytest.approx(2 / 2**7)


def test_backward_is_forward_turned_round():
    comparison = compare_joined(joined("1110010110", "1000110111"))
    forward, backward = comparison.pairs
    assert (forward.nfr, forward.pfr) == (backward.pfr, backward.nfr)
    assert forward.accuracy_difference_interval == pytest.approx(
        tuple(-each for each in reversed(backward.accuracy_difference_interval)), abs=1e-9
    )
    assert forward.mcnemar_p == backward.mcnemar_p


@given(st.lists(st.text("01", min_size=12, max_size=12), min_size=2, max_size=4))
def test_pairs_agree_with_the_functions_for_two_models(patterns):
    comparison = compare_joined(joined(*patterns))
    models = {name: answers(pattern, name) for name, pattern in zip(comparison.models, patterns, strict=True)}
    for pair in comparison.pairs:
        reference, new = models[pair.reference], models[pair.new]
        assert pair.mcnemar_p == pytest.approx(mcnemar_exact(reference, new))
        assert pair.relative_nfr == pytest.approx(relative_negative_flip_rate(reference, new))
        assert pair.nfr_interval[0] <= pair.nfr <= pair.nfr_interval[1]


def test_holm_by_hand():
    # sorted: 0.01 * 4, 0.02 * 3, 0.03 * 2, 0.5 * 1, each at least what came before
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]


def test_p_is_corrected_for_the_unordered_pairs():
    comparison = compare_joined(joined("0" * 10, "1" * 10, "0" * 10))
    assert comparison["model-0", "model-1"].mcnemar_p == pytest.approx(2 / 2**10)
    assert comparison["model-0", "model-1"].mcnemar_p_corrected == pytest.approx(3 * 2 / 2**10)
    assert comparison["model-0", "model-2"].mcnemar_p_corrected == 1


def test_classes_are_sorted_by_what_surely_regressed():
    """Class 2 flipped in its only sample, class 1 in 15 of 60, class 0 in 1 of 40, class 3 not at all."""
    targets = [0] * 40 + [1] * 60 + [2] + [3] * 5
    new = "0" + "1" * 39 + "0" * 15 + "1" * 45 + "0" + "1" * 5
    comparison = compare_joined(joined("1" * 106, new, targets=targets))
    parts = comparison.pairs[0].classes.parts
    assert [part.value for part in parts] == [1, 2, 0, 3]
    assert [(part.samples, part.negative_flips) for part in parts] == [(60, 15), (1, 1), (40, 1), (5, 0)]
    assert parts[0].nfr == 0.25
    assert parts[1].nfr_interval == (pytest.approx(0.025), 1.0)
    assert parts[3].nfr_interval == (0.0, pytest.approx(1 - 0.025**0.2))


def test_slices_have_tables_of_their_own():
    comparison = compare_joined(joined("1111", "0011", country=["de", "de", "fr", "fr"], device=[1, 2, 1, 2]))
    slices = comparison.pairs[0].slices
    assert {name: [(part.value, part.nfr) for part in table.parts] for name, table in slices.items()} == {
        "country": [("de", 1.0), ("fr", 0.0)],
        "device": [(1, 0.5), (2, 0.5)],
    }
    assert comparison.pairs[1].slices["country"].parts[0].pfr == 1.0


def test_clusters_widen_the_intervals_and_vote_once_each():
    """Twelve copies of each of 10 originals: as much evidence as 10 samples, not as 120."""
    pattern, groups = "1111111111", np.repeat(np.arange(10), 12).tolist()
    new = "0000000111"
    copies = compare_joined(
        joined("".join(mark * 12 for mark in pattern), "".join(mark * 12 for mark in new), groups=groups)
    )
    single = compare_joined(joined(pattern, new))
    free = compare_joined(joined("".join(mark * 12 for mark in pattern), "".join(mark * 12 for mark in new)))
    assert copies.clusters == 10
    assert copies.pairs[0].mcnemar_p == single.pairs[0].mcnemar_p == pytest.approx(2 / 2**7)
    widths = [each.pairs[0].nfr_interval[1] - each.pairs[0].nfr_interval[0] for each in (free, single, copies)]
    assert widths[0] < 0.4 * widths[2]
    assert widths[1] <= widths[2] < 1.3 * widths[1]
    gains = [each.pairs[0].accuracy_difference_interval for each in (single, copies)]
    assert gains[1][0] <= gains[0][0] + 1e-9
    assert gains[1][1] >= gains[0][1] - 1e-9


def test_a_cluster_that_gains_as_much_as_it_loses_does_not_vote():
    comparison = compare_joined(joined("10" * 3 + "11", "01" * 3 + "00", groups=[0, 0, 1, 1, 2, 2, 3, 3]))
    assert comparison.pairs[0].mcnemar_p == 1.0
    assert compare_joined(joined("10" * 3 + "11", "01" * 3 + "00")).pairs[0].mcnemar_p == pytest.approx(
        min(1.0, 2 * sum(comb(8, k) for k in range(4)) / 2**8)
    )


def test_only_the_classes_that_regressed_most_are_listed_of_very_many():
    targets = list(range(1200))
    comparison = compare_joined(joined("1" * 1200, "1" * 1199 + "0", targets=targets))
    classes = comparison.pairs[0].classes
    assert (len(classes.parts), classes.left_out) == (1000, 200)
    assert classes.parts[0].value == 1199
