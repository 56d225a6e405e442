"""The severity of a negative flip: how confident the new model is in its mistake."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regnas.flips.predictions import Predictions


def severities(new: Predictions, flipped: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return severity = p_new(prediction) - p_new(label) of the flipped samples [F]; 0 without logits."""
    answer = probabilities_of(new, flipped, new.predicted)
    label = probabilities_of(new, flipped, new.targets)
    return np.zeros(len(flipped)) if answer is None or label is None else answer - label


def probabilities_of(
    predictions: Predictions, rows: NDArray[np.int64], classes: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Return softmax(logits)[row, classes[row]] of some rows [F] -> [F]; None without logits.

    A class without a logit has the probability 0.
    """
    if predictions.logits is None:
        return None
    probabilities = softmax(predictions.logits[rows])  # [F, C]
    wanted = classes[rows]
    known = wanted < probabilities.shape[1]
    chosen = np.take_along_axis(probabilities, np.where(known, wanted, 0)[:, None], axis=1)[:, 0]
    return np.where(known, chosen, 0.0)


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the softmax over classes, in double precision: [N, C] -> [N, C]."""
    shifted = logits.astype(np.float64)
    exponents = np.exp(shifted - shifted.max(axis=1, keepdims=True))
    probabilities: NDArray[np.float64] = exponents / exponents.sum(axis=1, keepdims=True)
    return probabilities
