"""The numbers of an update, worked out by hand from five samples and two seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regnas.flips import Predictions
from regnas.flips.closed_forms import difference_interval
from regnas.report.update.measures import Difference, Measure
from regnas.updates.results import Outcome, SweepPoint, over_seeds, pareto_front, summarize, summarize_sweep

TARGETS = np.array([0, 1, 2, 0, 1])


def answers(right, groups=None):
    """Predictions from a text with a 1 for each correct sample."""
    correct = np.array([mark == "1" for mark in right])
    targets = np.resize(TARGETS, len(right))
    predicted = np.where(correct, targets, (targets + 1) % 3)
    return Predictions("model", np.arange(len(right)), targets, predicted, groups=groups)


def seeds(*plans, groups=None):
    return [[answers(right, groups) for right in plan] for plan in plans]


PLAIN = seeds(("11110", "11001"), ("11100", "10011"))
TREATED = seeds(("11110", "11101"), ("11100", "11110"))
FLOOR = seeds(("11001", "11110"), ("10011", "10011"))


def outcome(label, predictions, cost=1.0):
    return Outcome(label, label, label.title(), f"What {label} does.", predictions, 100, cost)


def summary(*outcomes, plain=PLAIN, floor=FLOOR, models=("old", "new")):
    return summarize("tiny", "same", models, tuple(range(len(plain))), plain, floor, outcomes, [], {"Data": "five"})


def test_error_rates_and_flips_are_means_over_seeds_with_their_spread():
    results = summary(outcome("none", PLAIN), outcome("treated", TREATED, 3.5))
    none = results["none"]
    old, new = none.error_rates
    assert (old.model, new.model) == ("old", "new")
    # old: 1 and 2 of 5 wrong; new: 2 and 2
    assert old.values == pytest.approx([0.2, 0.4])
    assert old.mean == pytest.approx(0.3)
    assert old.spread == pytest.approx(math.sqrt(0.02))  # both are 0.1 from the mean, over n - 1 = 1
    assert (new.mean, new.spread) == (pytest.approx(0.4), pytest.approx(0.0))
    (pair,) = none.pairs
    assert (pair.reference, pair.new) == ("old", "new")
    # 11110 -> 11001: samples 3 and 4 break, 5 is won; 11100 -> 10011: 2 and 3 break, 4 and 5 are won
    assert pair.nfr.values == pytest.approx([0.4, 0.4])
    assert pair.pfr.values == pytest.approx([0.2, 0.4])
    # NFR / ((1 - ER_old) * ER_new)
    assert pair.relative_nfr.values == pytest.approx([0.4 / (0.8 * 0.4), 0.4 / (0.6 * 0.4)])
    assert pair.relative_nfr.mean == pytest.approx((1.25 + 5 / 3) / 2)
    # 11110 -> 11101: the fourth breaks; 11100 -> 11110: none
    assert results["treated"].pairs[0].nfr.values == pytest.approx([0.2, 0.0])
    assert results.samples == 5
    assert results.seeds == (0, 1)
    assert results.models == ("old", "new")
    assert (results["treated"].training_cost, results["treated"].parameters) == (3.5, 100)


def test_differences_are_paired_with_no_treatment_and_their_interval_holds_the_mean():
    results = summary(outcome("none", PLAIN), outcome("treated", TREATED))
    none, treated = results["none"], results["treated"]
    assert none.error_rate_difference is None
    assert none.pairs[0].nfr_difference is None
    # NFR 0.1 against 0.4, error rate (0.2 + 0.2) / 2 against 0.4
    difference = treated.pairs[0].nfr_difference
    assert difference.mean == pytest.approx(-0.3)
    assert treated.error_rate_difference.mean == pytest.approx(-0.2)
    # By seed -0.2 and -0.4: t_1 * |0.2| / 2 = 1.27 alone is more than a difference can be
    assert difference.interval == (-1, 1)
    # by seed -0.2 and -0.2: the seeds agree, and what remains is the choice of samples
    low, high = treated.error_rate_difference.interval
    assert -1 < low < -0.2 < high < 1


def test_one_seed_has_the_intervals_of_a_comparison_of_files():
    results = summary(outcome("treated", TREATED[:1]), plain=PLAIN[:1], floor=FLOOR[:1])
    found = results["treated"]
    # 11001 -> 11101: one gained of five; NFR 0.2 against 0.4: samples 3 and 4 flipped, now 4
    gain = difference_interval(1, 0, 5)
    assert found.error_rate_difference.interval == (float(gain[0]), float(gain[1]))
    assert found.pairs[0].nfr_difference.interval == (float(gain[0]), float(gain[1]))
    assert found.pairs[0].nfr_interval == found.pairs[0].by_seed[0].nfr_interval
    assert found.mean_nfr.interval == found.pairs[0].nfr_interval


def test_every_seed_has_its_own_test_and_intervals():
    pair = summary(outcome("none", PLAIN))["none"].pairs[0]
    assert [each.seed for each in pair.by_seed] == [0, 1]
    # 11110 -> 11001: two lost, one gained: p = 1; 11100 -> 10011: two lost, two gained
    assert [each.nfr for each in pair.by_seed] == [0.4, 0.4]
    assert [each.accuracy_difference for each in pair.by_seed] == [-0.2, 0.0]
    assert [each.mcnemar_p for each in pair.by_seed] == [1.0, 1.0]


TUNED = seeds(("11110", "11001"), ("11100", "11001"))  # NFR 0.4 and 0.2


def test_a_method_that_fine_tunes_is_compared_with_fine_tuning():
    bcwi = Outcome("bcwi", "bcwi", "BCWI", "What it does.", TREATED, 100, 1.0, "fine_tuning")
    outcomes = [outcome("none", PLAIN), outcome("fine_tuning", TUNED), bcwi]
    facts: dict[str, str] = {}
    results = summarize("tiny", "same", ("old", "new"), (0, 1), PLAIN, FLOOR, outcomes, [], facts, TUNED)
    found = results["bcwi"]
    assert found.counterpart == "fine_tuning"
    assert found.pairs[0].nfr_difference.mean == pytest.approx(0.1 - 0.3)
    assert found.pairs[0].nfr_difference_to_none.mean == pytest.approx(0.1 - 0.4)
    assert found.error_rate_difference.mean == pytest.approx(0.2 - 0.4)
    tuned = results["fine_tuning"]
    assert tuned.counterpart == "none"
    assert tuned.pairs[0].nfr_difference.mean == pytest.approx(0.3 - 0.4)


def test_variants_of_one_original_are_drawn_together():
    groups = np.zeros(5, dtype=np.int64)  # all are one: a single cluster tells nothing
    plain, treated = (
        [[Predictions("m", p.ids, p.targets, p.predicted, groups=groups) for p in seed] for seed in each]
        for each in (PLAIN, TREATED)
    )
    found = summary(outcome("treated", treated), plain=plain)["treated"].error_rate_difference
    assert found.interval == (-1, 1)


def test_a_method_that_changes_one_answer_in_one_seed_is_not_untreated():
    wrong_otherwise = answers("11001")
    predicted = wrong_otherwise.predicted.copy()
    predicted[2] = (predicted[2] + 1) % 3  # wrong before and wrong now, but another answer
    other = Predictions("model", wrong_otherwise.ids, TARGETS, predicted)
    results = summary(outcome("other", [[PLAIN[0][0], other], PLAIN[1]]))
    assert results["other"].error_rate_difference.mean == 0.0


def test_the_noise_floor_counts_both_directions():
    floor = summary(outcome("none", PLAIN)).noise_floor
    assert floor.model == "new"
    # 11001 against 11110: 1 is lost one way and 2 the other, (0.2 + 0.4) / 2; the second seed's two are the same
    assert floor.nfr.values == pytest.approx([0.3, 0.0])
    assert floor.nfr.mean == pytest.approx(0.15)
    assert floor.error_rate.values == pytest.approx([0.3, 0.4])  # (0.4 + 0.2) / 2 and 0.4
    turned = summary(outcome("none", PLAIN), floor=[pair[::-1] for pair in FLOOR]).noise_floor
    assert turned == floor


def test_a_single_seed_has_no_spread():
    results = summary(outcome("none", PLAIN[:1]), plain=PLAIN[:1], floor=FLOOR[:1])
    none = results["none"]
    assert none.error_rates[0].mean == pytest.approx(0.2)
    assert none.error_rates[0].spread is None
    assert none.pairs[0].nfr.spread is None
    assert results.noise_floor.nfr.spread is None


def test_in_a_chain_every_older_model_is_compared_with_every_newer_one():
    three = seeds(("11111", "11100", "10001"))
    results = summary(outcome("none", three), plain=three, floor=FLOOR[:1], models=("a", "b", "c"))
    pairs = results["none"].pairs
    assert [(pair.reference, pair.new, pair.nfr.mean) for pair in pairs] == [
        ("a", "b", pytest.approx(0.4)),
        ("a", "c", pytest.approx(0.6)),
        ("b", "c", pytest.approx(0.4)),
    ]


def flags(results):
    return {entry.label: entry.on_front for entry in results.methods}


def test_the_front_holds_what_nothing_beats_in_error_rate_and_flips():
    results = summary(
        outcome("none", PLAIN),  # ER 0.4, NFR 0.4
        outcome("treated", TREATED),  # ER 0.2, NFR 0.1
        outcome("again", TREATED),  # a tie stands beside it
        outcome("frozen", seeds(("11110", "11110"), ("11100", "11100"))),  # ER 0.3, NFR 0
        outcome("slow", seeds(("11110", "11110"), ("11100", "11000"))),  # ER 0.4, NFR 0.1: frozen beats it
    )
    assert flags(results) == {"none": False, "treated": True, "again": True, "frozen": True, "slow": False}


def test_a_mean_that_differs_in_its_rounding_alone_is_a_tie():
    ten = "1" * 10
    # error rates 0.2 and 0.4, and twice 0.3: the same mean, though 1 - 0.8 + 1 - 0.6 and 2 * (1 - 0.7) are not
    more_flips = seeds((ten, "1111111100"), ("0000001111", "0000111111"))
    fewer_flips = seeds((ten[:7] + "000", "1111111000"), (ten[:7] + "000", "1111111000"))
    floor = seeds((ten, ten), (ten, ten))
    results = summary(outcome("more", more_flips), outcome("fewer", fewer_flips), plain=more_flips, floor=floor)
    more, fewer = results["more"], results["fewer"]
    assert more.error_rates[1].mean == fewer.error_rates[1].mean == 0.3
    assert more.pairs[0].nfr.mean > fewer.pairs[0].nfr.mean
    assert flags(results) == {"more": False, "fewer": True}


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
def test_no_point_of_the_front_is_beaten_and_every_other_is_beaten_by_one_of_it(points):
    front = pareto_front(points)
    best = [point for point, on_front in zip(points, front, strict=True) if on_front]
    assert best
    for point, on_front in zip(points, front, strict=True):
        beaten = [other for other in best if other != point and other[0] <= point[0] and other[1] <= point[1]]
        assert bool(beaten) != on_front


def test_over_seeds_divides_by_one_less_than_their_number():
    found = over_seeds([1.0, 2.0, 6.0])
    assert found == Measure(3.0, pytest.approx(math.sqrt((4 + 1 + 9) / 2)), (1.0, 2.0, 6.0))


# Sweeps


def point(value, *search, report=(("11110", "11101"), ("11100", "11110"))):
    return SweepPoint(value, seeds(*report), seeds(*search))


REPORTED = (("11110", "11101"), ("11100", "11110"))
UNTREATED = point(math.nan, ("11111", "11001"), ("11111", "11000"))  # error rates 0.4 and 0.6: the bar is about 0.5


def chosen(*points):
    return summarize_sweep("bcwi", "BCWI", "alpha", points, UNTREATED).chosen


NO_FLIPS_BUT_WORSE = point(0.9, ("11000", "11000"), ("10000", "10000"))  # ER 0.6 and 0.8, NFR 0
ONE_FLIP = point(0.5, ("11100", "11010"), ("11100", "11100"))  # ER 0.4 and 0.4, NFR 0.1
ONE_FLIP_AND_BETTER = point(0.4, ("11100", "11011"), ("11100", "11100"))  # ER 0.2 and 0.4, NFR 0.1
TWO_FLIPS = point(0.1, ("11110", "11001"), ("11100", "11100"))  # NFR 0.2
AT_THE_BAR = point(0.7, ("11100", "11100"), ("11000", "11000"))  # ER 0.4 and 0.6, NFR 0


def test_the_value_with_the_fewest_flips_among_the_able_is_chosen():
    assert chosen(TWO_FLIPS, ONE_FLIP, NO_FLIPS_BUT_WORSE) == 0.5
    assert chosen(TWO_FLIPS, ONE_FLIP, ONE_FLIP_AND_BETTER) == 0.4  # the lower error rate if flips are equal
    assert chosen(TWO_FLIPS, ONE_FLIP, AT_THE_BAR) == 0.7  # as good as untreated is good enough
    assert chosen(NO_FLIPS_BUT_WORSE) is None


def test_the_bar_is_met_by_an_equal_mean_of_other_rates():
    untreated = point(math.nan, ("1111111111", "1111111100"), ("1111111111", "1111110000"))  # 0.2 and 0.4
    equal = point(0.3, *[("1111111000", "1111111000")] * 2)  # twice 0.3
    found = summarize_sweep("bcwi", "BCWI", "alpha", [equal], untreated)
    assert found.chosen == 0.3


def test_one_standard_error_is_given_and_not_more():
    def one_seed(answered):
        return point(0.5, ("1" * 100, answered), report=(REPORTED[0],))

    untreated = one_seed("0" + "1" * 99)
    # Two samples lost and one won: 0.01 more errors, with a standard error of sqrt(0.03 - 0.0001) / 10 = 0.017.
    uncertain = summarize_sweep("bcwi", "BCWI", "alpha", [one_seed("1" * 98 + "00")], untreated)
    # Two lost and none won: 0.02 more errors, with a standard error of sqrt(0.02 - 0.0004) / 10 = 0.014.
    certain = summarize_sweep("bcwi", "BCWI", "alpha", [one_seed("0" + "1" * 97 + "00")], untreated)
    assert uncertain.chosen == 0.5
    assert certain.chosen is None


def test_the_difference_to_the_untreated_model_is_that_of_the_report_split():
    (row,) = summarize_sweep("bcwi", "BCWI", "alpha", [NO_FLIPS_BUT_WORSE], UNTREATED).points
    open_end = 3.841459 / (5 + 3.841459)  # the same answers to five samples: Tango's interval of no flips
    expected = Difference(0.0, pytest.approx((-open_end, open_end), abs=1e-6))
    assert row.error_rate_difference == expected


def test_a_curve_has_its_numbers_from_the_report_split_and_its_choice_from_the_search_split():
    found = summarize_sweep("bcwi", "BCWI", "alpha", [ONE_FLIP, TWO_FLIPS], UNTREATED)
    assert (found.method, found.title, found.key) == ("bcwi", "BCWI", "alpha")
    first, second = found.points
    assert [row.value for row in (first, second)] == [0.5, 0.1]
    assert first.nfr.values == pytest.approx([0.2, 0.0])
    assert first.error_rate.values == pytest.approx([0.2, 0.2])
    assert first.relative_nfr.values == pytest.approx([0.2 / (0.8 * 0.2), 0.0])
    assert (first.search_nfr, first.search_error_rate) == (pytest.approx(0.1), pytest.approx(0.4))
    assert (second.search_nfr, second.search_error_rate) == (pytest.approx(0.2), pytest.approx(0.4))
