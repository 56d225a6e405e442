"""Decide whether polished weights replace the unpolished ones, by the interval of a paired comparison.

The search chose the architectures because they were good on its images with the unpolished weights. On these images the
unpolished weights therefore look better than they are. For this reason, a part of the search split is held out of the
search. The images of the search choose the point on the line. The held-out images, which have chosen nothing, compare
this one point with the unpolished weights. The unpolished weights stay only if they are significantly better: if the
whole interval of the difference of rewards is below zero. If the interval contains zero, the polished weights are
taken. The user requested them, and an error in this direction is small, because the two differ little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from regnas.family.decision import Change, Comparison
from regnas.flips import Predictions, align, bootstrap_means, interval, mean_interval, shared_groups
from regnas.search import Measures, Reward

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answers:
    """Which samples the members predict correctly, and which pairs flip; all samples are in the same order.

    correct: [N] by member
    flips: [N] by pair, "small > large"
    groups: [N], or None
    """

    correct: Mapping[str, NDArray[np.bool_]]
    flips: Mapping[str, NDArray[np.bool_]]
    groups: NDArray[np.int64] | None

    @classmethod
    def of(cls, predicted: Mapping[str, Predictions], old: Mapping[str, Predictions]) -> Answers:
        """Pair every member with the smaller ones, and with the old predictions."""
        aligned = align([*predicted.values(), *old.values()])
        correct = {name: each.correct for name, each in zip([*predicted, *old], aligned, strict=True)}
        pairs = [*product(old, predicted), *combinations(predicted, 2)]
        flips = {f"{small} > {large}": correct[small] & ~correct[large] for small, large in pairs}
        return cls({name: correct[name] for name in predicted}, flips, shared_groups(aligned))

    def part(self, chosen: NDArray[np.int64]) -> Answers:
        """Return the answers for some samples."""
        correct = {name: each[chosen] for name, each in self.correct.items()}
        flips = {pair: each[chosen] for pair, each in self.flips.items()}
        return Answers(correct, flips, None if self.groups is None else self.groups[chosen])

    @property
    def top1(self) -> Floats:
        """[N], the mean over the members."""
        return np.asarray(np.mean(list(self.correct.values()), axis=0), dtype=np.float64)

    @property
    def nfr(self) -> Floats:
        """[N], the mean over the pairs."""
        return np.asarray(np.mean(list(self.flips.values()), axis=0), dtype=np.float64)

    def measures(self) -> Measures:
        """Return the mean Top-1 and the NFR of each pair."""
        return Measures(float(self.top1.mean()), {pair: float(each.mean()) for pair, each in self.flips.items()})


def compare_answers(before: Answers, after: Answers, reward: Reward) -> Comparison:
    """Compare two sets of weights of the same members on the same samples."""
    return Comparison(
        top1=_change(before.top1, after.top1, before.groups),
        mean_nfr=_change(before.nfr, after.nfr, before.groups) if before.flips else None,
        reward=_reward_change(before, after, reward),
    )


def _change(before: Floats, after: Floats, groups: NDArray[np.int64] | None, scale: float = 1.0) -> Change:
    low, high = mean_interval((after - before) / scale, groups, "difference")
    return Change(float(before.mean()), float(after.mean()), (scale * low, scale * high))


def _reward_change(before: Answers, after: Answers, reward: Reward) -> Change:
    """Return the difference of rewards.

    A reward that is a mean over the samples, as R0 to R2, gets the interval of means; others get a bootstrap interval.
    """
    values = [_rewards(each, reward) for each in (before, after)]  # two of [N]
    exact = [reward(each.measures()) for each in (before, after)]
    if np.allclose([each.mean() for each in values], exact, rtol=0, atol=1e-9):
        largest = max(1.0, float(np.abs(values[1] - values[0]).max()))
        return _change(values[0], values[1], before.groups, largest)
    drawn = [_drawn_rewards(each, reward) for each in (before, after)]  # the same draws of samples
    return Change(exact[0], exact[1], interval(drawn[1] - drawn[0]))


def _rewards(answers: Answers, reward: Reward) -> Floats:
    """Return the reward of each sample alone: [N]; equal samples have equal rewards."""
    columns = np.column_stack([answers.top1, *answers.flips.values()]).astype(np.float64)  # [N, 1 + P]
    kinds, kind_of = np.unique(columns, axis=0, return_inverse=True)
    known = _each(kinds, list(answers.flips), reward)
    return known[kind_of.reshape(-1)]


def _drawn_rewards(answers: Answers, reward: Reward) -> Floats:
    columns = np.column_stack([answers.top1, *answers.flips.values()]).astype(np.float64)  # [N, 1 + P]
    return _each(bootstrap_means(columns, answers.groups), list(answers.flips), reward)


def _each(rows: Floats, pairs: Sequence[str], reward: Reward) -> Floats:
    """Return the reward of each row of Top-1 and flips: [R, 1 + P] -> [R]."""
    return np.array([reward(Measures(row[0], dict(zip(pairs, row[1:], strict=True)))) for row in rows.tolist()])
