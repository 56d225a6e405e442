"""The sign test, and p-values corrected for several tests."""

from __future__ import annotations

from collections.abc import Sequence

from regnas.flips.special import binomial_tail


def sign_test(negative: int, positive: int) -> float:
    """Return the two-sided p-value of negative ~ Binomial(n, 1/2), n = negative + positive.

    p = min(1, 2 P(X <= min(negative, positive))).
    """
    if abs(negative - positive) <= 1:  # at least half of the outcomes are as unequal on one side
        return 1.0
    return min(1.0, 2 * binomial_tail(min(negative, positive), negative + positive))


def holm(values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number m (Holm, 1979).

    The i-th smallest becomes max over j <= i of min(1, (m - j + 1) p_j), with p_j sorted.
    """
    corrected, highest = [0.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=lambda place: values[place])):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = highest
    return corrected
