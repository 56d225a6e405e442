"""Gradients without torch."""

from __future__ import annotations

import numpy as np


def central_differences(function, point, step=1e-5):
    """The gradient of the sum of ``function``'s values at an array."""
    gradient = np.zeros_like(point)
    for index in np.ndindex(*point.shape):
        above, below = point.copy(), point.copy()
        above[index] += step
        below[index] -= step
        gradient[index] = (function(above).sum() - function(below).sum()) / (2 * step)
    return gradient
