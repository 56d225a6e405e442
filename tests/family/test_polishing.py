"""Which weights the members get: by hand, by the limit on flips, or by a paired interval."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from regnas.data import Split
from regnas.family.deciding import Answers, compare_answers
from regnas.family.decision import Change, Comparison, Decision
from regnas.family.polishing import Images, Point, Polished, Polisher, Polishing, choose, prefer
from regnas.flips import mean_nfr_difference_interval
from regnas.runs.searched_images import divide
from regnas.search import OLD, REWARDS
from tests.search.stub import nfr, predictions


def against(low, high):
    change = Change(0.5, 0.5 + (low + high) / 2, (low, high))
    return Comparison(change, change, change)


UNDECIDED = against(-0.1, 0.1)


def point(alpha, reward, *rates, comparison=UNDECIDED):
    pairs = {f"pair {index}": rate for index, rate in enumerate(rates)}
    return Point(alpha, {"small": 0.8, "large": 0.9}, pairs, reward, None if alpha is None else comparison)


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


def test_if_no_point_meets_the_limit_the_nearest_is_taken():
    assert prefer(POINTS[:3], 0.001).alpha == 0.5  # of two that are as near, the higher reward
    assert prefer(POINTS[:2], 0.001).alpha is None


@pytest.mark.parametrize(
    ("bounds", "alpha", "verdict"),
    [((0.01, 0.2), 0.5, "better"), ((-0.2, -0.01), None, "worse"), ((-0.1, 0.3), 0.5, "undecided"),
     ((-0.3, 0.1), 0.5, "undecided")],
)  # fmt: skip
def test_the_unpolished_weights_stay_only_if_they_are_significantly_better(bounds, alpha, verdict):
    """Independently of the images of the search, which favor the unpolished weights."""
    points = [point(None, 0.9), point(0.0, 0.3), point(0.5, 0.4, comparison=against(*bounds))]
    chosen, compared, reason = choose(points, None, None)
    assert (chosen.alpha, compared.alpha, reason, compared.comparison.verdict) == (alpha, 0.5, "interval", verdict)


def test_the_limit_on_flips_decides_before_the_interval_and_the_user_before_both():
    worse = against(-0.2, -0.1)
    points = [point(None, 0.9, 0.05), point(0.5, 0.4, 0.01, comparison=worse)]
    assert choose(points, 0.02, None) == (points[1], points[1], "limit")
    assert choose(points, 0.1, None)[0] == points[0]
    assert choose(points, 0.1, 0.5) == (points[1], points[1], "hand")
    exceeding = [point(None, 0.9, 0.01), point(0.5, 0.95, 0.05, comparison=against(0.1, 0.2))]
    assert choose(exceeding, 0.02, None) == (exceeding[0], exceeding[1], "limit")


def decision(**changes):
    values = {"alpha": 0.5, "compared": 0.5, "reason": "interval", "held_out": True, "images": 600, "originals": 75}
    return Decision(**{**values, "comparison": against(0.01, 0.03), **changes})


def test_the_decision_says_what_was_compared_on_which_images():
    lines = decision().lines()
    assert lines == [
        "polishing: alpha 0.5 chosen because it is significantly better (difference of rewards +2.00 [1.00, 3.00])",
        "alpha 0.5 against the unpolished weights, in percent: mean Top-1 50.00 -> 52.00, +2.00 [1.00, 3.00]; mean NFR "
        "50.00 -> 52.00, +2.00 [1.00, 3.00]",
        "measured on 600 images of 75 originals that were held out of the search",
    ]
    stay = decision(alpha=None, comparison=against(-0.03, -0.01)).lines()[0]
    assert stay.startswith("polishing: the unpolished weights stay because they are significantly better (")
    undecided = decision(comparison=UNDECIDED, images=15, originals=15).lines()
    assert undecided[2] == "measured on 15 images that were held out of the search"
    assert undecided[3].startswith(
        "warning: 15 images are too few to tell which weights are better. To decide, enlarge"
    )
    same = decision(held_out=False).lines()[2]
    assert same.endswith(
        "of the search split; the same images chose the architectures, which favors the unpolished weights"
    )
    assert decision(reason="hand").lines()[0] == "polishing: alpha 0.5 chosen by hand"


def test_a_decision_is_read_back_as_it_was_written():
    assert Decision.from_dict(decision().to_dict(), "manifest.json") == decision()


def test_the_summary_says_whether_the_limit_is_met():
    def summary(chosen, limit):
        return Polished(tuple(POINTS), chosen, decision(), None, 0, limit).summary

    assert summary(POINTS[2], 0.01).endswith("the highest NFR, 1.00 %, is within 1 %")
    assert summary(POINTS[1], 0.01).endswith("the highest NFR, 2.00 %, exceeds 1 %")
    assert "highest NFR" not in summary(POINTS[1], None)


def answers(*members, old=None):
    named = {f"m{place}": predictions(correct, f"m{place}") for place, correct in enumerate(members)}
    return Answers.of(named, {} if old is None else {OLD: predictions(old, OLD)})


@pytest.mark.parametrize("reward", ["R0", "R1", "R2"])
def test_differences_are_those_of_the_rewards_with_the_intervals_of_the_one_policy(reward):
    random = np.random.default_rng(3)
    before, after = (random.random((3, 200)) < share for share in (0.6, 0.8))
    reward = REWARDS[reward]()
    found = compare_answers(answers(*before), answers(*after), reward)
    assert found.reward.difference == pytest.approx(
        reward(answers(*after).measures()) - reward(answers(*before).measures())
    )
    assert found.top1.difference == pytest.approx(after.mean() - before.mean())
    models = [[predictions(each, f"m{place}") for place, each in enumerate(part)] for part in (after, before)]
    assert found.mean_nfr.interval == pytest.approx(mean_nfr_difference_interval(*models))
    low, high = found.reward.interval
    assert low < found.reward.difference < high


def test_a_reward_that_is_not_a_mean_over_samples_has_an_interval():
    random = np.random.default_rng(3)
    before, after = (random.random((2, 400)) < share for share in (0.5, 0.9))
    found = compare_answers(answers(*before), answers(*after), lambda measures: measures.top1**2)
    low, high = found.reward.interval
    assert low < after.mean() ** 2 - before.mean() ** 2 < high
    assert 0.3 < low < high < 0.8


def test_a_single_member_has_no_flips_to_compare():
    found = compare_answers(answers([True, False]), answers([True, True]), REWARDS["R2"]())
    assert found.mean_nfr is None
    assert found.reward.difference == 0.5


def split(classes, groups):
    targets, groups = np.repeat(np.arange(classes), groups), np.arange(classes * groups)
    targets, groups = np.repeat(targets, 4), np.repeat(groups, 4)  # four variants of each original
    images = np.zeros((len(targets), 1, 2, 2), np.uint8)
    ids = np.arange(len(targets)).astype(str)
    return Split("search", torch.from_numpy(images), torch.from_numpy(targets), ids, groups)


def test_whole_originals_of_every_class_are_held_out_by_the_seed_of_the_run():
    samples = split(3, 8)
    images = divide(samples, 0.25, seed=0)
    assert images.held_out
    assert sorted([*images.searched, *images.deciding]) == list(range(len(samples)))
    assert not set(samples.groups[images.searched]) & set(samples.groups[images.deciding])
    assert np.bincount(samples.targets.numpy()[images.deciding]).tolist() == [8, 8, 8]  # two originals of each class
    assert images.originals == 6
    assert divide(samples, 0.25, seed=0).deciding.tolist() == images.deciding.tolist()
    assert divide(samples, 0.25, seed=1).deciding.tolist() != images.deciding.tolist()


@pytest.mark.parametrize(("samples", "share"), [(split(3, 8), 0.0), (split(3, 1), 0.5)])
def test_without_a_part_held_out_the_images_of_the_search_decide(samples, share):
    images = divide(samples, share, seed=0)
    assert not images.held_out
    assert len(images.searched) == len(images.deciding) == len(samples)


def test_flips_from_old_predictions_are_pairs_of_every_point_and_images_are_those_of_the_search():
    correct = {"small": [1, 1, 0, 0, 1, 1], "large": [1, 0, 1, 0, 1, 1]}
    own = {name: predictions([bool(mark) for mark in marks], name) for name, marks in correct.items()}
    old = predictions([True, True, False, True, True, True], OLD)

    class Fixed:
        def predict_each(self, architectures):
            return [own[name] for name in architectures]

    images = Images(np.arange(4), np.arange(4, 6), 2)
    polisher = Polisher(
        Polishing(), None, None, REWARDS["R2"](), None, lambda weights: Fixed(), (0,), Path(), images, 0.1, {OLD: old}
    )
    found = polisher._answers({"small": "small", "large": "large"}, None)
    measured = polisher._measured(0.5, found, found)
    assert measured.nfr == {f"{OLD} > small": 1 / 4, f"{OLD} > large": 2 / 4, "small > large": 1 / 4}
    assert nfr(old.correct[:4], own["large"].correct[:4]) == 2 / 4
    assert measured.reward == pytest.approx(0.5 - 1 / 3)
    assert measured.comparison.top1.before == 1.0  # on the last two images
