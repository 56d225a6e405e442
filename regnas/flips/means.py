"""Intervals of means over samples, pairs and seeds: one policy for all reports.

A value v_sn of seed s and sample n lies between 0 and 1 for a rate (a flip: 0 or 1; the share of the pairs of a family
that flip: a fraction) and between -1 and 1 for a paired difference of two rates. Its mean over N samples is the
statistic.

One seed and whole values (the rate of one pair or one model, the difference of two such rates): the closed form alone,
Clopper-Pearson for rates and Tango for differences, with the effective number of samples under the clusters.

Several seeds, or fractions: percentiles of the hierarchical bootstrap (``hierarchical_means``), but never narrower
than the closed form. The closed form keeps an interval from being [0, 0] if nothing flipped, and corrects it for few
flips and few seeds:

- Samples. A mean m of fractions v varies less than a rate of the same size: whole values with this mean have the
  variance (sum |v| - N m^2) / N, the fractions have (sum v^2 - N m^2) / N. So the closed form uses n R samples, with n
  the effective number under the clusters and R = (sum |v| - N m^2 + 1) / (sum v^2 - N m^2 + 1). One more sample that
  flips as a whole is added to both sums, because a few flips do not tell how large the fractions can be. Without any
  flip, R = 1, and the interval is that of the event "any pair flips in any seed" with 0 of n observed. The mean is
  never above the rate of this event.
- Seeds. The mean m over S seeds has the standard error s / sqrt(S), s the standard deviation of the S means, and its
  deviation follows Student's t with S - 1 degrees of freedom. If [low, high] is the closed form over samples, then
  m -+ sqrt((m - low)^2 + (t_(S - 1) s / sqrt(S))^2), with high for the upper end, has at least the coverage of its
  level for normal deviations (Banerjee, 1961; the bounds are combined as in Zou and Donner, 2008). Variation over both
  samples and seeds is in both terms, so the interval is rather too wide than too narrow.

No interval covers seeds that behave differently from all observed seeds: if s = 0, the seed term is 0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regnas.errors import ArtifactError
from regnas.flips.bootstrap import RESAMPLES, hierarchical_means, interval
from regnas.flips.closed_forms import LEVEL, difference_interval, rate_interval
from regnas.flips.partitions import Partition
from regnas.flips.special import student_t_quantile

Kind = Literal["rate", "difference"]
LOWEST = {"rate": 0.0, "difference": -1.0}


def mean_interval(
    values: NDArray[np.float64],
    groups: NDArray[np.int64] | None,
    kind: Kind,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> tuple[float, float]:
    """Return the interval of the mean of values [S, N] over seeds and clusters of samples.

    Args:
        values: of each seed and sample; [N] for one seed.
        groups: the cluster of each sample, [N]; None if the samples are independent.
        kind: "rate" for values between 0 and 1, "difference" for values between -1 and 1.
        level: the share of intervals that hold the true mean.
        resamples: draws of the bootstrap.
    """
    values = np.atleast_2d(np.asarray(values, dtype=np.float64))  # [S, N]
    if not 0 < level < 1:
        raise ArtifactError(f"the level of an interval must be between 0 and 1, got {level}")
    if values.size == 0 or not (values.min() >= LOWEST[kind] and values.max() <= 1):
        raise ArtifactError(f"values of a {kind} must be between {LOWEST[kind]:g} and 1, and at least one")
    low, high = closed_form(values.mean(axis=0), groups, kind, level)
    if len(values) == 1 and np.array_equal(values, np.rint(values)):
        return low, high
    mean = float(values.mean())
    half = _seed_error(values.mean(axis=1), level)
    drawn_low, drawn_high = interval(hierarchical_means(values, groups, resamples), level)
    low = min(drawn_low, mean - float(np.hypot(mean - low, half)))
    high = max(drawn_high, mean + float(np.hypot(high - mean, half)))
    return max(LOWEST[kind], low), min(1.0, high)


def closed_form(
    values: NDArray[np.float64], groups: NDArray[np.int64] | None, kind: Kind, level: float = LEVEL
) -> tuple[float, float]:
    """Return the interval of the mean of values [N] over samples, with the effective number of samples."""
    whole = Partition.whole(len(values), groups)
    changed = np.flatnonzero(values)
    nonzero = values[changed]
    count, mean = len(values), float(nonzero.sum()) / len(values)
    of_rates = float(np.abs(nonzero).sum()) - count * mean**2
    of_values = float((nonzero**2).sum()) - count * mean**2
    samples = whole.independent(changed, nonzero, level) * ((of_rates + 1) / (of_values + 1))  # [1]
    if kind == "rate":
        low, high = rate_interval(mean, samples, level)
    else:
        share = samples / count
        lost, gained = -float(nonzero[nonzero < 0].sum()), float(nonzero[nonzero > 0].sum())
        low, high = difference_interval(lost * share, gained * share, samples, level)
    return float(low[0]), float(high[0])


def _seed_error(means: NDArray[np.float64], level: float) -> float:
    """Return t_(S - 1) s / sqrt(S) of the means [S] of the seeds; 0 for a single seed."""
    seeds = len(means)
    if seeds == 1:
        return 0.0
    return float(student_t_quantile(seeds - 1, (1 + level) / 2) * means.std(ddof=1) / np.sqrt(seeds))
