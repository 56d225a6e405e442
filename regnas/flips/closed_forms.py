"""Closed-form intervals, which are not empty at zero: a few samples without a flip do not prove a rate of 0.

A bootstrap gives [0, 0] if nothing flipped, whatever the number of samples. Here a rate has the interval of Clopper and
Pearson (1934), whose coverage is at least its level, and a paired difference has that of Tango (1998). If samples come
in clusters, both use the number of independent samples that would have the same variance (Korn and Graubard, 1998).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regnas.flips.special import beta_quantile, normal_quantile, student_t_quantile

LEVEL = 0.95
MOST_KEPT = 100_000

Floats = NDArray[np.float64]

_KEPT: dict[tuple[float, complex], tuple[float, float]] = {}  # level, rate + i samples -> interval


def rate_interval(rate: ArrayLike, samples: ArrayLike, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Return the Clopper-Pearson interval: the rates that neither one-sided binomial test rejects at (1 - level) / 2.

    low = B^-1(x, n - x + 1; a / 2), high = B^-1(x + 1, n - x; 1 - a / 2) for x = rate * n of n samples, a = 1 - level
    and the incomplete beta function B; n need not be an integer. Without samples, the interval is [0, 1].
    """
    rates, counts = np.broadcast_arrays(np.asarray(rate, dtype=np.float64), np.asarray(samples, dtype=np.float64))
    distinct, places = np.unique(rates.ravel() + 1j * counts.ravel(), return_inverse=True)
    bounds = _rate_intervals(distinct, level)[:, places]  # [2, N]
    return bounds[0].reshape(rates.shape), bounds[1].reshape(rates.shape)


def _rate_intervals(given: NDArray[np.complex128], level: float) -> Floats:
    """Return the ends [2, V] of the intervals of V pairs of a rate and a number of samples, rate + i samples.

    The results are kept, because the thousands of classes of a comparison share a few numbers of flips and samples.
    """
    keys = [(level, each) for each in given.tolist()]
    missing = np.array([key not in _KEPT for key in keys])
    if missing.any():
        if len(_KEPT) + len(keys) > MOST_KEPT:
            _KEPT.clear()
            missing[:] = True
        low, high = _clopper_pearson(given[missing].real, given[missing].imag, level)
        new = [key for key, unknown in zip(keys, missing.tolist(), strict=True) if unknown]
        _KEPT.update(zip(new, zip(low.tolist(), high.tolist(), strict=True), strict=True))
    return np.array([_KEPT[key] for key in keys]).reshape(-1, 2).T


def _clopper_pearson(rates: Floats, counts: Floats, level: float) -> tuple[Floats, Floats]:
    tail = (1 - level) / 2
    known = counts > 0
    some, others = known & (rates > 0), known & (rates < 1)
    flips = rates * counts
    low, high = np.zeros(rates.shape), np.ones(rates.shape)
    low[some] = beta_quantile(flips[some], (counts - flips)[some] + 1, tail)
    high[others] = beta_quantile(flips[others] + 1, (counts - flips)[others], 1 - tail)
    return low, high


def difference_interval(
    negative: ArrayLike, positive: ArrayLike, samples: ArrayLike, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Return Tango's score interval of (positive - negative) / samples, from the numbers of paired samples that flip.

    It holds all differences d of n samples that the score test does not reject:
    |positive - negative - n d| <= z sqrt(n (2 q + d (1 - d))), where q, the maximum-likelihood share of negative flips
    given d, is the positive root of 2 n q^2 + b q - negative d (1 - d) = 0 with
    b = (2 n - positive + negative) d - positive - negative. Without samples, the interval is [-1, 1].
    """
    given = (np.asarray(each, dtype=np.float64) for each in (negative, positive, samples))
    lost, gained, counts = np.broadcast_arrays(*given)
    z = normal_quantile((1 + level) / 2)
    center = np.divide(gained - lost, counts, out=np.zeros(counts.shape), where=counts > 0)
    return _end(lost, gained, counts, z, center, -1.0), _end(lost, gained, counts, z, center, 1.0)


def independent_samples(
    samples: ArrayLike,
    clusters: ArrayLike,
    size: ArrayLike,
    within: ArrayLike,
    between: ArrayLike,
    level: float = LEVEL,
) -> Floats:
    """Return the effective number of samples for N samples in G clusters: N / D * (t_(N - 1) / t_(G - 1))^2.

    within: the sum of squares of the samples around their mean, N p (1 - p) for a rate p
    between: the sum of squares of the clusters, sum_g (y_g - p m_g)^2 for y_g flips among m_g samples
    size: s = sum_g m_g^2 / N, the mean over samples of the size of their cluster

    D = (between + s^2) / (within + s), at least 1, is the design effect: the factor by which clusters increase the
    variance of the mean. One more cluster, flipped as a whole, is added to both sums, because a few flips say next to
    nothing about their clustering: without any flip, D = s, and each cluster counts once. The ratio of the quantiles of
    Student's t allows for few clusters (Korn and Graubard, 1998); a single cluster gives 0. If every cluster is one
    sample, the result is N.
    """
    given = (np.asarray(each, dtype=np.float64) for each in (samples, clusters, size, within, between))
    counts, groups, sizes, inside, across = np.broadcast_arrays(*given)
    effect = np.maximum(1.0, (across + sizes**2) / (inside + sizes))
    quantile = (1 + level) / 2
    ratio = student_t_quantile(np.maximum(counts - 1, 1), quantile) / student_t_quantile(
        np.maximum(groups - 1, 1), quantile
    )
    return np.where((groups == 1) & (counts > 1), 0.0, counts / effect * ratio**2)


def _end(lost: Floats, gained: Floats, counts: Floats, z: float, inside: Floats, outermost: float) -> Floats:
    """Return the end of the interval, between a difference that the score test accepts and the outermost one."""
    outside = np.full(counts.shape, outermost)
    for _ in range(60):
        middle = (inside + outside) / 2
        linear = (2 * counts - gained + lost) * middle - gained - lost
        square = np.maximum(0.0, linear**2 + 8 * counts * lost * middle * (1 - middle))
        share = np.divide(np.sqrt(square) - linear, 4 * counts, out=np.zeros(counts.shape), where=counts > 0)
        variance = np.maximum(0.0, counts * (2 * share + middle * (1 - middle)))
        rejected = (gained - lost - counts * middle) ** 2 > z**2 * variance
        inside, outside = np.where(rejected, inside, middle), np.where(rejected, middle, outside)
    return np.where(counts > 0, outside, outermost)
