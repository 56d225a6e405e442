"""Numbers of the diagnostics, worked out by hand."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regnas.flips import Predictions, diagnose
from regnas.flips.diagnostics import _auroc, ranks_of, uncertainties


def predictions(logits, targets, model="m", ids=None):
    values = np.array(logits, dtype=np.float32)
    return Predictions(
        model=model,
        ids=np.arange(len(values)) if ids is None else np.array(ids),
        targets=np.array(targets),
        predicted=values.argmax(axis=1),
        logits=values,
    )


def logs(*probabilities):
    """Return logits with this softmax."""
    return [math.log(each) for each in probabilities]


# Five samples of class 0 and four classes. Reference: right, right, right, wrong, wrong; new: wrong, wrong, right,
# wrong, right. So samples 0 and 1 flip, and 3 is an error of both.
OLD = [
    logs(0.5, 0.3, 0.1, 0.1),
    logs(0.6, 0.1, 0.2, 0.1),
    logs(0.97, 0.01, 0.01, 0.01),
    logs(0.2, 0.1, 0.6, 0.1),
    logs(0.1, 0.7, 0.1, 0.1),
]
NEW = [
    logs(0.3, 0.6, 0.05, 0.05),
    logs(0.1, 0.5, 0.3, 0.1),
    logs(0.91, 0.03, 0.03, 0.03),
    logs(0.1, 0.2, 0.65, 0.05),
    logs(0.7, 0.1, 0.1, 0.1),
]
TARGETS = [0] * 5


@pytest.fixture(scope="module")
def found():
    return diagnose([(predictions(OLD, TARGETS), predictions(NEW, TARGETS))])


def test_flips_and_common_errors_are_counted(found):
    assert (found.samples, found.negative_flips) == (5, 2)
    assert (found.flips.samples, found.common_errors.samples) == (2, 1)


def test_ranks_are_those_by_hand(found):
    # the new model answers 1 on both: second and (with class 3 as good) third in the reference
    assert found.flips.wrong_class_in_reference.counts == (0, 1, 1, 0, 0, 0, 0, 0, 0, 0)
    assert found.flips.wrong_class_in_reference.median == 2.5
    # the label is second, and third behind 0.5 and 0.3, in the new model
    assert found.flips.true_class_in_new.counts[:4] == (0, 1, 1, 0)
    # both answer 2 on sample 3
    assert found.common_errors.wrong_class_in_reference.counts[0] == 1
    assert found.common_errors.true_class_in_new.counts[2] == 1
    assert found.flips.wrong_class_in_reference.share_within(2) == 0.5


def test_margins_are_those_by_hand(found):
    # reference 0.5 - 0.3 and 0.6 - 0.1; new 0.3 - 0.6 and 0.1 - 0.5
    assert found.flips.margin_in_reference.median == pytest.approx((0.2 + 0.5) / 2)
    assert found.flips.margin_in_new.median == pytest.approx((-0.3 - 0.4) / 2)
    assert found.common_errors.margin_in_reference.quantiles == pytest.approx([-0.4] * 5)
    assert found.common_errors.margin_in_new.quantiles == pytest.approx([-0.55] * 5)
    assert sum(found.flips.margin_in_new.counts[:10]) == 2  # all below 0


def test_uncertainty_is_the_entropy_over_that_of_equal_chances():
    even = predictions([[1.0, 1.0, 1.0], [100.0, 0.0, 0.0], logs(0.5, 0.25, 0.25)], [0, 0, 0])
    entropy = 0.5 * math.log(2) + 0.5 * math.log(4)
    np.testing.assert_allclose(uncertainties(even), [1, 0, entropy / math.log(3)], atol=1e-7)


def test_bins_hold_all_samples_and_all_flips():
    """Twenty samples whose uncertainty rises; the last three flip."""
    count = 20
    chance = np.linspace(0.01, 0.45, count)
    old = predictions([logs(1 - p, p) for p in chance], [0] * count)
    new = predictions([logs(0.3, 0.7) if n >= 17 else logs(0.9, 0.1) for n in range(count)], [0] * count)
    bins = diagnose([(old, new)]).reference_uncertainty.bins
    assert [each.samples for each in bins] == [2] * 10
    assert [each.negative_flips for each in bins] == [0] * 8 + [1, 2]
    assert bins[-1].negative_flip_rate == 1
    assert bins[-2].share_of_flips == pytest.approx(1 / 3)
    assert all(one.high == other.low for one, other in pairwise(bins))
    found = diagnose([(old, new)])
    assert found.reference_uncertainty.auroc == 1  # all flips are more uncertain than all others
    assert found.reference_uncertainty.most_uncertain == bins[-1]
    assert len(found.new_uncertainty.bins) == 1  # two values alone: equal ones share a bin


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30))
def test_auroc_is_the_share_of_pairs_in_the_right_order(samples):
    values, positive = np.array([float(value) for value, _ in samples]), np.array([flag for _, flag in samples])
    pairs = [(one > other) + (one == other) / 2 for one in values[positive] for other in values[~positive]]
    assert _auroc(values, positive) == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)


def test_a_class_that_the_reference_does_not_have_is_counted_apart_and_has_no_chance_there():
    old = predictions([logs(0.7, 0.3)], [0])
    new = predictions([logs(0.2, 0.1, 0.7)], [0])
    found = diagnose([(old, new)])
    ranks = found.flips.wrong_class_in_reference
    assert (sum(ranks.counts), ranks.beyond, ranks.unknown, ranks.median) == (0, 0, 1, None)
    assert found.flips.margin_in_reference.median == pytest.approx(0.7)
    assert ranks_of(new, np.array([0]), np.array([1])).tolist() == [3]


def test_ranks_below_ten_are_counted_together():
    old, new = [float(-n) for n in range(15)], [0.0] * 15
    new[14] = 1.0
    found = diagnose([(predictions([old], [0]), predictions([new], [0]))])
    assert found.flips.wrong_class_in_reference.beyond == 1
    assert found.flips.wrong_class_in_reference.median == 15
    assert found.flips.true_class_in_new.counts[1] == 1  # equal logits share the better rank


def test_the_order_of_the_samples_does_not_matter(found):
    order = [3, 1, 4, 0, 2]
    shuffled = predictions([NEW[n] for n in order], TARGETS, ids=order)
    assert diagnose([(predictions(OLD, TARGETS), shuffled)]) == found


def test_pairs_are_pooled(found):
    pair = (predictions(OLD, TARGETS), predictions(NEW, TARGETS))
    twice = diagnose([pair, pair])
    assert twice.negative_flips == 4
    assert twice.flips.wrong_class_in_reference.median == found.flips.wrong_class_in_reference.median
    assert twice.reference_uncertainty.auroc == pytest.approx(found.reference_uncertainty.auroc)


def test_without_flips_and_without_logits():
    same = predictions(OLD, TARGETS)
    found = diagnose([(same, same)])
    assert found.reference_uncertainty.auroc is None
    assert found.flips.margin_in_new.median is None
    assert found.flips.wrong_class_in_reference.share_within(3) == 0
    json.dumps(asdict(found), allow_nan=False)
    assert diagnose([(same, same.answered_by("other", same.predicted))]) is None
