"""Quantiles and tails of the binomial, beta and Student's t distributions, in numpy alone.

All are the regularized incomplete beta function I_x(a, b), which is a continued fraction, or its inverse. scipy has the
same functions and is larger than everything else that a comparison needs; ``tests/flips/test_special.py`` compares the
two: they agree to 9 digits or better.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# B_2k / (2k (2k - 1) z^(2k - 1)), the terms of Stirling's series; from z = 16 on, these are enough for 16 digits.
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
SERIES_FROM = 16.0
TINY = 1e-300
MOST_TERMS = 100_000
MOST_EXACT = 1000  # trials up to which the tail is a sum of integers: a p-value of 1/2 is exactly 0.5
MOST_STEPS = 200
LARGEST_LOGIT = 700.0
LAST_STEP = 1e-8  # Newton's method squares the error: after a step this small, it is below the rounding

_log_gamma = np.frompyfunc(math.lgamma, 1, 1)


def beta_quantile(a: ArrayLike, b: ArrayLike, probability: float) -> Floats:
    """Return x with I_x(a, b) = probability, for positive a and b that need not be integers."""
    return _expit(_logit_quantile(a, b, probability))


def student_t_quantile(freedom: ArrayLike, probability: float) -> Floats:
    """Return t with P(T <= t) = probability, for Student's t; the probability must be 0.5 or above.

    T^2 / (T^2 + f) follows the beta distribution with a = 1/2 and b = f/2, for f degrees of freedom.
    """
    given = np.asarray(freedom, dtype=np.float64)
    degrees, places = np.unique(given, return_inverse=True)
    return _student_t_quantiles(tuple(degrees.tolist()), probability)[places].reshape(given.shape)


@lru_cache(maxsize=256)
def _student_t_quantiles(freedom: tuple[float, ...], probability: float) -> Floats:
    """Return the quantiles; they are kept, because all rates of a comparison share their numbers of samples."""
    degrees = np.array(freedom)
    if probability == 0.5:
        return np.zeros(degrees.shape)
    quantiles: Floats = np.sqrt(degrees) * np.exp(_logit_quantile(0.5, degrees / 2, 2 * probability - 1) / 2)
    return quantiles


def normal_quantile(probability: float) -> float:
    """Return z with P(Z <= z) = probability, for the standard normal distribution."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)


def binomial_tail(count: int, trials: int) -> float:
    """Return P(X <= count) for X ~ Binomial(trials, 1/2): I_(1/2)(trials - count, count + 1)."""
    if count >= trials:
        return 1.0
    if trials <= MOST_EXACT:
        term = total = 1  # binomial coefficients, and their sum
        for successes in range(count):
            term = term * (trials - successes) // (successes + 1)
            total += term
        return total / (1 << trials)
    a, b = np.array([trials - count], dtype=np.float64), np.array([count + 1], dtype=np.float64)
    half = np.array([0.5])
    return float(_incomplete_beta(a, b, half, half)[0][0])


def _logit_quantile(a: ArrayLike, b: ArrayLike, probability: float) -> Floats:
    """Return u = log(x / (1 - x)) for the quantile x.

    Newton's method, kept inside a bracket that shrinks. In u the derivative of I_x(a, b) is x^a (1 - x)^b / B(a, b),
    which the incomplete beta function computes anyway, and digits are kept for x near 0 and near 1.
    """
    given = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
    first, second = (np.ravel(each) for each in given)
    low, high = np.full(first.shape, -LARGEST_LOGIT), np.full(first.shape, LARGEST_LOGIT)
    deviation = normal_quantile(probability) * np.sqrt(1 / first + 1 / second)
    logit = np.clip(np.log(first / second) + deviation, -LARGEST_LOGIT, LARGEST_LOGIT)
    active = np.arange(len(first))
    for _ in range(MOST_STEPS):
        if not len(active):
            break
        here = logit[active]
        found, slope = _incomplete_beta(first[active], second[active], _expit(here), _expit(-here))
        below = found < probability
        low[active[below]], high[active[~below]] = here[below], here[~below]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = (probability - found) / slope
        last = np.abs(step) < LAST_STEP
        following = here + step
        inside = (following > low[active]) & (following < high[active])
        logit[active] = np.where(inside | last, following, (low[active] + high[active]) / 2)
        active = active[~last]
    shaped: Floats = logit.reshape(given[0].shape)
    return shaped


def _incomplete_beta(a: Floats, b: Floats, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return I_x(a, b) [N] and x^a y^b / B(a, b) [N]; y = 1 - x, which the caller has without cancellation."""
    density = _density(a, b, x, y)
    swapped = x > (a + 1) / (a + b + 2)  # there the fraction converges faster for 1 - I_y(b, a)
    first, second = np.where(swapped, b, a), np.where(swapped, a, b)
    tail = density / first * _fraction(first, second, np.where(swapped, y, x))
    return np.where(swapped, 1 - tail, tail), density


def _density(a: Floats, b: Floats, x: Floats, y: Floats) -> Floats:
    """Return x^a y^b / B(a, b) by the saddle-point expansion (Loader, 2000), which keeps its digits for large a, b."""
    total = a + b
    error = _stirling_error(total) - _stirling_error(a) - _stirling_error(b)
    difference = a * y - b * x  # a - (a + b) x, and the negative of b - (a + b) y, without cancellation
    deviance = _deviance(a, total * x, difference) + _deviance(b, total * y, -difference)
    return np.sqrt(a * b / (2 * math.pi * total)) * np.exp(error - deviance)


def _deviance(count: Floats, expected: Floats, difference: Floats) -> Floats:
    """Return count log(count / expected) - difference, with difference = count - expected, which may be small."""
    expected = np.maximum(expected, TINY)
    with np.errstate(over="ignore"):
        relative = difference / expected
        return np.where(
            np.abs(relative) < 0.5,
            expected * ((1 + relative) * np.log1p(np.maximum(relative, -0.5)) - relative),
            count * np.log(count / expected) - difference,
        )


def _stirling_error(z: Floats) -> Floats:
    """Return log(z!) - log(sqrt(2 pi z) (z / e)^z)."""
    small = z < SERIES_FROM
    large = np.where(small, SERIES_FROM, z)
    inverse = 1 / large**2
    series = np.zeros(z.shape)
    for coefficient in reversed(STIRLING):
        series = series * inverse + coefficient
    result = series / large
    if small.any():
        few = z[small]
        exact = np.asarray(_log_gamma(few + 1), dtype=np.float64)
        result[small] = exact - (few + 0.5) * np.log(few) + few - math.log(2 * math.pi) / 2
    return result


def _fraction(a: Floats, b: Floats, x: Floats) -> Floats:
    """Return the continued fraction of I_x(a, b), by Lentz's method (Press et al., Numerical Recipes, 6.4)."""
    result = np.empty(x.shape)
    active = np.arange(len(x))
    upper = np.ones(x.shape)
    lower = 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = lower.copy()
    for term in range(1, MOST_TERMS):
        double = 2 * term
        even = term * (b - term) * x / ((a + double - 1) * (a + double))
        odd = -(a + term) * (a + b + term) * x / ((a + double) * (a + double + 1))
        for coefficient in (even, odd):
            lower = 1 / _away_from_zero(1 + coefficient * lower)
            upper = _away_from_zero(1 + coefficient / upper)
            change = upper * lower
            value = value * change
        moving = np.abs(change - 1) > 3e-16
        if not moving.all():
            result[active[~moving]] = value[~moving]
            active, a, b, x = active[moving], a[moving], b[moving], x[moving]
            upper, lower, value = upper[moving], lower[moving], value[moving]
            if not len(active):
                break
    result[active] = value
    return result


def _away_from_zero(values: Floats) -> Floats:
    """Change 0 alone: next to any other value, which is a sum with 1, this is below the rounding."""
    return values + TINY


def _expit(logit: Floats) -> Floats:
    """Return 1 / (1 + exp(-u)), with full relative precision near 0."""
    small = np.exp(-np.abs(logit))
    quotient: Floats = np.where(logit < 0, small, 1.0) / (1 + small)
    return quotient
