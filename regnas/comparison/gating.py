"""May the new model replace the old one? Limits on flips and accuracy, judged by intervals.

A limit is met when the whole interval meets it and broken when the whole interval breaks it. Otherwise the samples do
not tell, and it is said how many further ones would, if the rates stay what they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from regnas.comparison.comparison import class_labels
from regnas.comparison.joining import Joined
from regnas.errors import ConfigurationError
from regnas.flips.closed_forms import LEVEL, difference_interval, rate_interval
from regnas.flips.paired import Bounds, Flips
from regnas.flips.partitions import Partition

# A rate so near to its limit that more samples than this were needed counts as being at the limit.
MOST_SAMPLES = 10**12


class Verdict(StrEnum):
    """From the best to the worst."""

    PASS = "pass"
    UNRESOLVED = "unresolved"
    FAIL = "fail"


@dataclass(frozen=True)
class Limits:
    """What the new model must keep to; None: no such limit.

    max_nfr, max_class_nfr: the highest NFR of all samples, and of those of any class
    min_accuracy_gain: the least accuracy(new) - accuracy(old); below 0, what may be lost
    """

    max_nfr: float | None = None
    max_class_nfr: float | None = None
    min_accuracy_gain: float | None = None

    def __post_init__(self) -> None:
        ranges = {"max_nfr": (0, 1), "max_class_nfr": (0, 1), "min_accuracy_gain": (-1, 1)}
        values = {name: getattr(self, name) for name in ranges}
        if all(value is None for value in values.values()):
            options = ", ".join(f"--{name.replace('_', '-')}" for name in ranges)
            raise ConfigurationError(f"a gate needs at least one limit: {options}")
        problems = [
            f"--{name.replace('_', '-')} is {value:g}, but must lie between {ranges[name][0]} and {ranges[name][1]}: "
            "rates are fractions, 0.02 for 2 %"
            for name, value in values.items()
            if value is not None and not ranges[name][0] <= value <= ranges[name][1]
        ]
        if problems:
            raise ConfigurationError(*problems)


@dataclass(frozen=True)
class Finding:
    """One number against its limit.

    further_samples: how many would settle it if the rate stays; None where it is settled, or never will be
    """

    estimate: float
    interval: Bounds
    verdict: Verdict
    further_samples: int | None


@dataclass(frozen=True)
class ClassFinding(Finding):
    """The NFR of one class; further samples are of that class."""

    value: str | int
    samples: int
    negative_flips: int


@dataclass(frozen=True)
class Check:
    """A limit and what was found; of many classes the finding is the worst one.

    interval_level: of each interval; for classes so high that all of them hold together as often as one otherwise
    classes: those that do not pass first, the worst first
    """

    limit: str
    bound: float
    interval_level: float
    finding: Finding
    classes: tuple[ClassFinding, ...] = ()

    @property
    def verdict(self) -> Verdict:
        return self.finding.verdict

    @property
    def further_samples(self) -> int | None:
        """How many would settle the limit: None where it is settled, or cannot be at these rates.

        One class that fails is enough; if none is over the limit, all have to pass.
        """
        if self.verdict != Verdict.UNRESOLVED:
            return None
        if not self.classes:
            return self.finding.further_samples
        failing = [each.further_samples for each in self.classes if each.estimate > self.bound]
        known = [count for count in failing if count is not None]
        if known:
            return min(known)
        needed = [each.further_samples for each in self.classes if each.verdict == Verdict.UNRESOLVED]
        known = [count for count in needed if count is not None]
        return max(known) if len(known) == len(needed) else None


@dataclass(frozen=True)
class GateResult:
    reference: str
    new: str
    samples: int
    clusters: int
    checks: tuple[Check, ...]

    @property
    def verdict(self) -> Verdict:
        return max((check.verdict for check in self.checks), key=list(Verdict).index)

    def accepted(self, allow_unresolved: bool) -> bool:
        return self.verdict == Verdict.PASS or (allow_unresolved and self.verdict == Verdict.UNRESOLVED)


def judge(joined: Joined, limits: Limits) -> GateResult:
    """Hold the second of two joined models to the limits."""
    flips = Flips.between(*joined.correct)
    whole = Partition.whole(joined.samples, joined.groups)
    checks = []
    if limits.max_nfr is not None:
        (interval,) = flips.nfr_intervals(whole)
        independent = float(whole.independent(flips.lost)[0])
        rate = len(flips.lost) / joined.samples
        finding = _flip_finding(rate, interval, limits.max_nfr, joined.samples, independent, LEVEL)
        checks.append(Check("max_nfr", limits.max_nfr, LEVEL, Finding(*finding)))
    if limits.max_class_nfr is not None:
        checks.append(_check_classes(joined, flips, limits.max_class_nfr))
    if limits.min_accuracy_gain is not None:
        checks.append(_check_gain(flips, whole, limits.min_accuracy_gain))
    clusters = joined.samples if whole.cells is None else len(whole.cells.sizes)
    reference, new = joined.models
    return GateResult(reference, new, joined.samples, clusters, tuple(checks))


def _check_classes(joined: Joined, flips: Flips, bound: float) -> Check:
    """Every class at the level 1 - (1 - LEVEL) / C: all C intervals hold together with LEVEL (Bonferroni)."""
    partition = Partition.of(class_labels(joined), joined.groups)
    level = 1 - (1 - LEVEL) / len(partition.values)
    counts, intervals = partition.count(flips.lost), flips.nfr_intervals(partition, level)
    independent = partition.independent(flips.lost, level=level)
    findings = []
    for place, value in enumerate(partition.values):
        samples = int(partition.samples[place])
        rate = float(counts[place] / samples)
        finding = _flip_finding(rate, intervals[place], bound, samples, float(independent[place]), level)
        findings.append(ClassFinding(*finding, value=value, samples=samples, negative_flips=int(counts[place])))
    severity = list(Verdict)
    findings.sort(key=lambda each: (-severity.index(each.verdict), -each.interval[0], -each.estimate))
    return Check("max_class_nfr", bound, level, findings[0], tuple(findings))


def _check_gain(flips: Flips, whole: Partition, bound: float) -> Check:
    gain, interval = flips.accuracy_difference(whole), flips.accuracy_interval(whole)
    low, high = interval
    verdict = Verdict.PASS if low >= bound else Verdict.FAIL if high < bound else Verdict.UNRESOLVED
    samples = int(whole.samples[0])
    negative, positive = len(flips.lost) / samples, len(flips.gained) / samples

    def settled(count: float) -> bool:
        below, above = difference_interval(negative * count, positive * count, count)
        return bool(below >= bound if gain > bound else above < bound)

    independent = float(flips.independent_samples(whole)[0])
    further = _further(settled, gain == bound, samples, independent) if verdict == Verdict.UNRESOLVED else None
    return Check("min_accuracy_gain", bound, LEVEL, Finding(gain, interval, verdict, further))


def _flip_finding(
    rate: float, interval: Bounds, bound: float, samples: int, independent: float, level: float
) -> tuple[float, Bounds, Verdict, int | None]:
    low, high = interval
    verdict = Verdict.PASS if high <= bound else Verdict.FAIL if low > bound else Verdict.UNRESOLVED

    def settled(count: float) -> bool:
        below, above = rate_interval(rate, count, level)
        return bool(above <= bound if rate < bound else below > bound)

    further = _further(settled, rate == bound, samples, independent) if verdict == Verdict.UNRESOLVED else None
    return rate, interval, verdict, further


def _further(settled: Callable[[float], bool], at_limit: bool, samples: int, independent: float) -> int | None:
    """n * N / N' - N for the least n at which the interval of the same rates settles the limit.

    N samples count for N' independent ones; n is found by doubling and bisection. About z^2 p (1 - p) / (p - limit)^2
    for a rate p well above 0, which is where half the width of the interval is the distance to the limit.
    """
    if at_limit or independent <= 0:
        return None
    high = max(1, math.ceil(independent))
    while not settled(high):
        high *= 2
        if high > MOST_SAMPLES:
            return None
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if settled(middle) else (middle, high)
    return max(1, math.ceil(np.float64(high) * samples / independent) - samples)
