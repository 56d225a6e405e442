"""Measures of the changes when a new model replaces a reference.

Each function first aligns the two models by sample id. Ratios are computed from integer counts: a rate that should be 0
is exactly 0. If there is nothing to count (0 / 0), the value is that of a model that breaks nothing: 0 for flip rates,
1 for compatibilities. No function returns NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regnas.flips.alignment import align
from regnas.flips.predictions import Predictions


@dataclass(frozen=True)
class ClassFlips:
    """The samples of one class and the share of them that flipped from correct to wrong."""

    samples: int
    negative_flip_rate: float


def negative_flip_rate(reference: Predictions, new: Predictions) -> float:
    """Return NFR = mean(reference correct and new wrong) (Yan et al., 2021)."""
    reference_right, new_right = _correctness(reference, new)
    return _count(reference_right & ~new_right) / len(new_right)


def positive_flip_rate(reference: Predictions, new: Predictions) -> float:
    """Return PFR = mean(reference wrong and new correct); ER_new = ER_reference + NFR - PFR."""
    return negative_flip_rate(new, reference)


def relative_negative_flip_rate(reference: Predictions, new: Predictions) -> float:
    """Return NFR / ((1 - ER_reference) * ER_new): 1 if the errors of the two models are independent.

    The denominator is 0 only if the reference is never correct or the new model never wrong. Nothing can flip then, and
    the value is 0.
    """
    reference_right, new_right = _correctness(reference, new)
    flips, samples = _count(reference_right & ~new_right), len(new_right)
    chances = _count(reference_right) * _count(~new_right)
    return flips * samples / chances if chances else 0.0


def backward_trust_compatibility(reference: Predictions, new: Predictions) -> float:
    """Return BTC, the share of the reference's correct samples on which the new model is correct.

    Backward trust compatibility (Srivastava et al., 2020). It is 1 if the reference is never correct.
    """
    reference_right, new_right = _correctness(reference, new)
    trusted = _count(reference_right)
    return _count(reference_right & new_right) / trusted if trusted else 1.0


def backward_error_compatibility(reference: Predictions, new: Predictions) -> float:
    """Return BEC, the share of the new model's errors that the reference also makes.

    Backward error compatibility (Srivastava et al., 2020). It is 1 if the new model is never wrong.
    """
    reference_right, new_right = _correctness(reference, new)
    errors = _count(~new_right)
    return _count(~reference_right & ~new_right) / errors if errors else 1.0


def per_class_negative_flip_rate(reference: Predictions, new: Predictions) -> dict[int, ClassFlips]:
    """Return for each target class c: NFR_c = mean over samples of class c (reference correct and new wrong)."""
    reference, new = align([reference, new])
    flipped = reference.correct & ~new.correct  # [N]
    classes, class_of = np.unique(reference.targets, return_inverse=True)  # [C], [N]
    samples = np.bincount(class_of, minlength=len(classes)).tolist()
    flips = np.bincount(class_of[flipped], minlength=len(classes)).tolist()
    return {
        label: ClassFlips(count, lost / count)
        for label, count, lost in zip(classes.tolist(), samples, flips, strict=True)
    }


def relative_change(value: float, baseline: float) -> float:
    """Return (value - baseline) / baseline; 0 if both are 0, infinite if only the baseline is 0."""
    if baseline == 0:
        return 0.0 if value == 0 else math.copysign(math.inf, value)
    return (value - baseline) / baseline


def _correctness(reference: Predictions, new: Predictions) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    reference, new = align([reference, new])
    return reference.correct, new.correct


def _count(condition: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(condition))
