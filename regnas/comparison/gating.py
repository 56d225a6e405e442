"""Decide whether a new model may replace the old one: limits on flips and accuracy, judged by intervals.

A limit passes if the whole interval meets it, and fails if the whole interval breaks it. Otherwise it is unresolved:
the check says about how many further samples would resolve it if the rates stay the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from regnas.comparison.breakdowns import class_labels
from regnas.comparison.joining import Joined
from regnas.errors import ConfigurationError
from regnas.flips.closed_forms import LEVEL, Floats, difference_interval, rate_interval
from regnas.flips.paired import Bounds, Flips
from regnas.flips.partitions import Partition

# A rate that needs more samples than this to be distinguished from its limit counts as equal to the limit.
MOST_SAMPLES = 10**12

Status = Literal["pass", "unresolved", "fail"]

STATUSES: tuple[Status, ...] = ("pass", "unresolved", "fail")  # from the best to the worst


@dataclass(frozen=True)
class Limits:
    """The limits that the new model must meet; None: no such limit.

    max_nfr, max_class_nfr: the highest NFR of all samples, and of the samples of any class
    min_accuracy_gain: the minimum of accuracy(new) - accuracy(old); negative values allow a loss
    """

    max_nfr: float | None = None
    max_class_nfr: float | None = None
    min_accuracy_gain: float | None = None

    def __post_init__(self) -> None:
        ranges = {"max_nfr": (0, 1), "max_class_nfr": (0, 1), "min_accuracy_gain": (-1, 1)}
        values = {name: getattr(self, name) for name in ranges}
        if all(value is None for value in values.values()):
            raise ConfigurationError(
                f"a gate must have at least one limit: {', '.join(f'`{name}`' for name in ranges)}, got none"
            )
        problems = [
            f"`{name}` must be a fraction between {low} and {high}, got {values[name]!r}. Write 0.02 for 2 %."
            for name, (low, high) in ranges.items()
            if values[name] is not None and not _is_between(values[name], low, high)
        ]
        if problems:
            raise ConfigurationError(*problems)


def _is_between(value: object, low: float, high: float) -> bool:
    return isinstance(value, int | float | np.floating | np.integer) and low <= float(value) <= high


@dataclass(frozen=True)
class Finding:
    """One number against its limit.

    further_samples: how many would resolve it if the rate stays the same; None if it is resolved, or cannot be
    """

    estimate: float
    interval: Bounds
    status: Status
    further_samples: int | None


@dataclass(frozen=True)
class ClassFinding(Finding):
    """The NFR of one class; further samples are of that class."""

    value: str | int
    samples: int
    negative_flips: int


@dataclass(frozen=True)
class Check:
    """A limit and its finding; of a limit on classes, the finding of the worst class.

    Attributes:
        limit: "max_nfr", "max_class_nfr" or "min_accuracy_gain".
        bound: the value of the limit.
        interval_level: the level of each interval; higher for classes, so that all of them hold together with 95 %.
        finding: the estimate, its interval and the status.
        classes: one finding per class, the worst first, if the limit is about classes.
    """

    limit: str
    bound: float
    interval_level: float
    finding: Finding
    classes: tuple[ClassFinding, ...] = ()

    @property
    def status(self) -> Status:
        """ "pass", "fail" or "unresolved"."""
        return self.finding.status

    @property
    def further_samples(self) -> int | None:
        """About how many samples would resolve the limit; None if it is resolved, or cannot be at these rates.

        One class that fails is enough; if no class is over the limit, all classes must pass.
        """
        if self.status != "unresolved":
            return None
        if not self.classes:
            return self.finding.further_samples
        failing = [each.further_samples for each in self.classes if each.estimate > self.bound]
        known = [count for count in failing if count is not None]
        if known:
            return min(known)
        needed = [each.further_samples for each in self.classes if each.status == "unresolved"]
        known = [count for count in needed if count is not None]
        return max(known) if len(known) == len(needed) else None


@dataclass(frozen=True, repr=False)
class Verdict:
    """Whether a new model meets the limits, as ``regnas.gate`` returns it.

    Attributes:
        reference: the name of the old model, ``new`` that of the new model.
        samples: the number of samples.
        clusters: the number of independent clusters of samples; the number of samples if there are no groups.
        checks: one check per limit.

    Example:
        >>> import regnas
        >>> verdict = regnas.gate([0] * 500, [0] * 500, target=[0] * 500, max_nfr=0.02)
        >>> verdict.status
        'pass'
        >>> verdict
        Pass: old → new on 500 samples
          NFR at most 2 %: pass, 0.00 [0.00, 0.74]
    """

    reference: str
    new: str
    samples: int
    clusters: int
    checks: tuple[Check, ...]

    @property
    def status(self) -> Status:
        """The worst status of the checks: "pass", "unresolved" or "fail"."""
        return max((check.status for check in self.checks), key=STATUSES.index)

    def accepted(self, allow_unresolved: bool = False) -> bool:
        """Whether the status is "pass", or "unresolved" if that is allowed."""
        return self.status == "pass" or (allow_unresolved and self.status == "unresolved")

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, lists and numbers."""
        from regnas.report.comparison.objects import verdict_object

        return verdict_object(self)

    def to_json(self) -> str:
        """Return the JSON text that ``regnas gate --json`` prints."""
        from regnas.report.comparison.objects import json_text

        return json_text(self.to_dict())

    def to_markdown(self) -> str:
        """Return the verdict as Markdown, short enough for a comment on a pull request."""
        from regnas.report.comparison.gate_tables import gate_markdown

        return gate_markdown(self)

    def _repr_html_(self) -> str:
        from regnas.report.comparison.notebook import verdict_table

        return verdict_table(self)

    def __repr__(self) -> str:
        from regnas.report.comparison.summaries import verdict_summary

        return verdict_summary(self)


def judge(joined: Joined, limits: Limits) -> Verdict:
    """Check the second of two joined models against the limits."""
    flips = Flips.between(*joined.correct)
    whole = Partition.whole(joined.samples, joined.groups)
    checks = []
    if limits.max_nfr is not None:
        interval = _interval(flips.nfr_intervals(whole), 0)
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
    return Verdict(reference, new, joined.samples, clusters, tuple(checks))


def _check_classes(joined: Joined, flips: Flips, bound: float) -> Check:
    """Check every class at the level 1 - (1 - LEVEL) / C: all C intervals hold together with LEVEL (Bonferroni)."""
    partition = Partition.of(class_labels(joined), joined.groups)
    level = 1 - (1 - LEVEL) / len(partition.values)
    counts, intervals = partition.count(flips.lost), flips.nfr_intervals(partition, level)
    independent = partition.independent(flips.lost, level=level)
    findings = []
    for place, value in enumerate(partition.values):
        samples = int(partition.samples[place])
        rate = float(counts[place] / samples)
        finding = _flip_finding(rate, _interval(intervals, place), bound, samples, float(independent[place]), level)
        findings.append(ClassFinding(*finding, value=value, samples=samples, negative_flips=int(counts[place])))
    findings.sort(key=lambda each: (-STATUSES.index(each.status), -each.interval[0], -each.estimate))
    return Check("max_class_nfr", bound, level, findings[0], tuple(findings))


def _interval(ends: tuple[Floats, Floats], place: int) -> Bounds:
    low, high = ends
    return float(low[place]), float(high[place])


def _check_gain(flips: Flips, whole: Partition, bound: float) -> Check:
    gain, interval = flips.accuracy_difference(whole), flips.accuracy_interval(whole)
    low, high = interval
    status: Status = "pass" if low >= bound else "fail" if high < bound else "unresolved"
    samples = int(whole.samples[0])
    negative, positive = len(flips.lost) / samples, len(flips.gained) / samples

    def settled(count: float) -> bool:
        below, above = difference_interval(negative * count, positive * count, count)
        return bool(below >= bound if gain > bound else above < bound)

    independent = float(flips.independent_samples(whole)[0])
    further = _further(settled, gain == bound, samples, independent) if status == "unresolved" else None
    return Check("min_accuracy_gain", bound, LEVEL, Finding(gain, interval, status, further))


def _flip_finding(
    rate: float, interval: Bounds, bound: float, samples: int, independent: float, level: float
) -> tuple[float, Bounds, Status, int | None]:
    low, high = interval
    status: Status = "pass" if high <= bound else "fail" if low > bound else "unresolved"

    def settled(count: float) -> bool:
        below, above = rate_interval(rate, count, level)
        return bool(above <= bound if rate < bound else below > bound)

    further = _further(settled, rate == bound, samples, independent) if status == "unresolved" else None
    return rate, interval, status, further


def _further(settled: Callable[[float], bool], at_limit: bool, samples: int, independent: float) -> int | None:
    """Return n * N / N' - N for the smallest n at which the interval of the same rates resolves the limit.

    N samples count for N' independent ones; n is found by doubling and bisection. For a rate p well above 0 it is about
    z^2 p (1 - p) / (p - limit)^2, at which half the width of the interval is the distance to the limit.
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
