"""Verdicts from intervals, and how many samples would decide an unresolved limit."""

from __future__ import annotations

import pytest

from regnas.comparison.gating import Limits, judge
from regnas.errors import ConfigurationError
from regnas.flips.closed_forms import rate_interval

from .helpers import joined


def flipped(count: int, samples: int, **options):
    return joined("1" * samples, "0" * count + "1" * (samples - count), **options)


def the_check(result):
    (check,) = result.checks
    return check


@pytest.mark.parametrize(
    ("count", "samples", "limit", "status"),
    [
        (0, 20, 0.02, "unresolved"),  # [0, 0.168]
        (0, 1000, 0.02, "pass"),  # [0, 0.0037]
        (0, 1000, 0.0, "unresolved"),
        (5, 1000, 0.02, "pass"),  # [0.0016, 0.0116]
        (20, 1000, 0.02, "unresolved"),
        (50, 1000, 0.02, "fail"),  # [0.037, 0.065]
        (3, 3, 0.02, "fail"),  # [0.29, 1]
        (1, 1, 0.02, "fail"),  # [0.025, 1]
        (1, 1, 0.03, "unresolved"),
        (1000, 1000, 1.0, "pass"),
    ],
)
def test_verdict_comes_from_the_whole_interval(count, samples, limit, status):
    assert judge(flipped(count, samples), Limits(max_nfr=limit)).status == status


def test_no_flip_in_a_few_samples_does_not_pass():
    """183 samples are the least at which no flip proves at most 2 %: 1 - 0.025^(1 / 183) = 0.01996."""
    assert judge(flipped(0, 182), Limits(max_nfr=0.02)).status == "unresolved"
    assert judge(flipped(0, 183), Limits(max_nfr=0.02)).status == "pass"
    assert 1 - 0.025 ** (1 / 182) > 0.02 >= 1 - 0.025 ** (1 / 183)


def test_further_samples_are_those_that_settle_it():
    check = the_check(judge(flipped(0, 20), Limits(max_nfr=0.02)))
    assert check.further_samples == 183 - 20
    check = the_check(judge(flipped(1, 50), Limits(max_nfr=0.05)))
    needed = 50 + check.further_samples
    assert rate_interval(0.02, needed)[1] <= 0.05 < rate_interval(0.02, needed - 1)[1]
    check = the_check(judge(flipped(3, 50), Limits(max_nfr=0.05)))
    needed = 50 + check.further_samples
    assert rate_interval(0.06, needed)[0] > 0.05 >= rate_interval(0.06, needed - 1)[0]


def test_further_samples_are_about_those_of_the_normal_approximation():
    """z^2 p (1 - p) / (p - limit)^2 = 3.84 * 0.25 * 0.75 / 0.05^2 = 288."""
    check = the_check(judge(flipped(25, 100), Limits(max_nfr=0.3)))
    assert 100 + check.further_samples == pytest.approx(288, rel=0.25)


def test_at_the_limit_no_number_of_samples_settles_it():
    for result in (judge(flipped(1, 50), Limits(max_nfr=0.02)), judge(flipped(0, 50), Limits(min_accuracy_gain=0))):
        assert (result.status, the_check(result).further_samples) == ("unresolved", None)


def test_clusters_need_as_many_more_samples_as_they_weigh_less():
    alone = the_check(judge(flipped(0, 50), Limits(max_nfr=0.02)))
    clustered = the_check(judge(flipped(0, 50, groups=[n // 5 for n in range(50)]), Limits(max_nfr=0.02)))
    assert clustered.finding.interval[1] > alone.finding.interval[1]
    assert 50 + clustered.further_samples > 4.5 * (50 + alone.further_samples)


def test_a_single_cluster_never_passes():
    result = judge(flipped(0, 5000, groups=[1] * 5000), Limits(max_nfr=0.02))
    assert (result.status, the_check(result).finding.interval) == ("unresolved", (0.0, 1.0))


def test_classes_are_judged_together():
    """Ten classes of 100: intervals of 99.5 %, in which 0 flips leave 1 - 0.0025^(1 / 100) = 5.8 %."""
    targets = [n % 10 for n in range(1000)]
    check = the_check(judge(joined("1" * 1000, "1" * 1000, targets=targets), Limits(max_class_nfr=0.05)))
    assert check.interval_level == pytest.approx(0.995)
    assert check.finding.interval[1] == pytest.approx(1 - 0.0025**0.01)
    assert check.status == "unresolved"
    assert judge(joined("1" * 1000, "1" * 1000, targets=targets), Limits(max_class_nfr=0.06)).status == "pass"
    # one class alone has the interval of 95 %: 1 - 0.025^(1 / 100) = 3.6 %
    assert judge(joined("1" * 100, "1" * 100), Limits(max_class_nfr=0.05)).status == "pass"


def test_one_class_that_fails_is_enough():
    targets = [0] * 500 + [1] * 500
    result = judge(joined("1" * 1000, "1" * 500 + "0" * 100 + "1" * 400, targets=targets), Limits(max_class_nfr=0.05))
    check = the_check(result)
    assert result.status == "fail"
    assert [(each.value, each.status, each.negative_flips) for each in check.classes] == [
        (1, "fail", 100),
        (0, "pass", 0),
    ]
    assert check.further_samples is None


def test_a_class_over_the_limit_settles_the_whole_before_the_others_pass():
    targets = [0] * 60 + [1] * 60
    check = the_check(judge(joined("1" * 120, "0" * 8 + "1" * 112, targets=targets), Limits(max_class_nfr=0.1)))
    over, under = check.classes
    assert (over.value, over.status, under.status) == (0, "unresolved", "pass")
    assert check.further_samples == over.further_samples


def test_accuracy_gain():
    better = joined("0" * 100 + "1" * 900, "1" * 1000)  # +10 points [8.3, 12.0]
    assert judge(better, Limits(min_accuracy_gain=0)).status == "pass"
    assert judge(better, Limits(min_accuracy_gain=0.1)).status == "unresolved"
    assert judge(better, Limits(min_accuracy_gain=0.15)).status == "fail"
    worse = joined("1" * 1000, "0" * 5 + "1" * 995)  # -0.5 points [-1.2, -0.1]
    assert judge(worse, Limits(min_accuracy_gain=0)).status == "fail"
    assert judge(worse, Limits(min_accuracy_gain=-0.02)).status == "pass"
    open_one = the_check(judge(worse, Limits(min_accuracy_gain=-0.01)))
    assert open_one.status == "unresolved"
    more = joined("1" * 4000, "0" * 20 + "1" * 3980)
    assert judge(more, Limits(min_accuracy_gain=-0.01)).status == "pass"
    assert 0 < open_one.further_samples < 3000


def test_equal_models_on_a_few_samples_do_not_prove_that_nothing_is_lost():
    assert judge(joined("11111", "11111"), Limits(min_accuracy_gain=-0.01)).status == "unresolved"


def test_the_worst_verdict_counts():
    models = joined("1" * 1000, "0" * 50 + "1" * 950)
    result = judge(models, Limits(max_nfr=0.02, max_class_nfr=0.05, min_accuracy_gain=-0.9))
    assert [check.status for check in result.checks] == ["fail", "unresolved", "pass"]
    assert result.status == "fail"
    assert not result.accepted(allow_unresolved=True)
    open_one = judge(models, Limits(max_class_nfr=0.05, min_accuracy_gain=-0.9))
    assert open_one.status == "unresolved"
    assert (open_one.accepted(True), open_one.accepted(False)) == (True, False)


@pytest.mark.parametrize(
    "limits", [{"max_nfr": 2}, {"max_nfr": -0.1}, {"max_class_nfr": 1.5}, {"min_accuracy_gain": float("nan")}]
)
def test_limits_out_of_range(limits):
    with pytest.raises(ConfigurationError, match="must be a fraction between"):
        Limits(**limits)


def test_all_limits_out_of_range_are_named_at_once():
    with pytest.raises(ConfigurationError) as caught:
        Limits(max_nfr=2, max_class_nfr=5)
    assert len(caught.value.problems) == 2


def test_no_limit():
    with pytest.raises(ConfigurationError, match="at least one limit: `max_nfr`, `max_class_nfr`, `min_accuracy_gain`"):
        Limits()
