"""Is one model more often right than the other, beyond chance?"""

from __future__ import annotations

import numpy as np

from regnas.flips.alignment import align
from regnas.flips.predictions import Predictions


def mcnemar_exact(reference: Predictions, new: Predictions) -> float:
    """Two-sided p-value of the exact McNemar test (McNemar, 1947).

    Of the b + c samples on which exactly one model is right, b are negative flips and c positive ones; if both models
    were equally good, b ~ Binomial(b + c, 1/2). 1.0 when there is no such sample.

    The test takes samples for independent. Where they come in clusters (``Predictions.groups``) it counts the same
    evidence several times and p is too small; use ``accuracy_difference_interval`` there.
    """
    reference, new = align([reference, new])
    negative = int(np.count_nonzero(reference.correct & ~new.correct))
    positive = int(np.count_nonzero(~reference.correct & new.correct))
    return sign_test(negative, positive)


def sign_test(negative: int, positive: int) -> float:
    """Two-sided p-value of negative ~ Binomial(negative + positive, 1/2): min(1, 2 P(X <= min(negative, positive)))."""
    from scipy.special import bdtr  # here, because importing it takes longer than everything else in this package

    if negative + positive == 0:
        return 1.0
    return min(1.0, 2 * float(bdtr(min(negative, positive), negative + positive, 0.5)))
