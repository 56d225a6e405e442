"""Measures of what changes when a new model replaces a reference.

Each function aligns the two models by sample id first. Every ratio is made of integer counts, so that a rate that
should be 0 is exactly 0. Where a ratio has nothing to count (0 / 0), the value is that of a model that breaks nothing:
0 for flip rates, 1 for compatibilities; no function returns NaN.
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
    """The samples of one class and the share of them that flipped from right to wrong."""

    samples: int
    negative_flip_rate: float


def negative_flip_rate(reference: Predictions, new: Predictions) -> float:
    """NFR = mean(reference right and new wrong) (Yan et al., 2021)."""
    reference_right, new_right = _correctness(reference, new)
    return _count(reference_right & ~new_right) / len(new_right)


def positive_flip_rate(reference: Predictions, new: Predictions) -> float:
    """PFR = mean(reference wrong and new right), so that ER_new = ER_reference + NFR - PFR."""
    return negative_flip_rate(new, reference)


def relative_negative_flip_rate(reference: Predictions, new: Predictions) -> float:
    """NFR / ((1 - ER_reference) * ER_new): 1 when the errors of the two models are independent.

    The denominator is 0 only when the reference is never right or the new model never wrong; nothing can flip then,
    and the value is 0.
    """
    reference_right, new_right = _correctness(reference, new)
    flips, samples = _count(reference_right & ~new_right), len(new_right)
    chances = _count(reference_right) * _count(~new_right)
    return flips * samples / chances if chances else 0.0


def backward_trust_compatibility(reference: Predictions, new: Predictions) -> float:
    """BTC = share of the samples the reference has right that the new model has right too (Srivastava et al., 2020).

    1 when the reference is never right: there is no trust to break.
    """
    reference_right, new_right = _correctness(reference, new)
    trusted = _count(reference_right)
    return _count(reference_right & new_right) / trusted if trusted else 1.0


def backward_error_compatibility(reference: Predictions, new: Predictions) -> float:
    """BEC = share of the new model's errors that the reference made already (Srivastava et al., 2020).

    1 when the new model is never wrong: there is no error that could be new.
    """
    reference_right, new_right = _correctness(reference, new)
    errors = _count(~new_right)
    return _count(~reference_right & ~new_right) / errors if errors else 1.0


def per_class_negative_flip_rate(reference: Predictions, new: Predictions) -> dict[int, ClassFlips]:
    """For each class c among the targets: NFR_c = mean over samples of class c (reference right and new wrong)."""
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
    """C(a, b) = (M(a) - M(b)) / M(b) for a measure M; 0 when both are 0, infinite when only the baseline is."""
    if baseline == 0:
        return 0.0 if value == 0 else math.copysign(math.inf, value)
    return (value - baseline) / baseline


def _correctness(reference: Predictions, new: Predictions) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    reference, new = align([reference, new])
    return reference.correct, new.correct


def _count(condition: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(condition))
