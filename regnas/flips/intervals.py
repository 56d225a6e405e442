"""Intervals of models, pairs and families, by the policy of ``regnas.flips.means``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regnas.errors import ArtifactError
from regnas.flips.alignment import align, shared_groups
from regnas.flips.closed_forms import LEVEL
from regnas.flips.means import mean_interval
from regnas.flips.predictions import Predictions

Bounds = tuple[float, float]


def accuracy_interval(predictions: Predictions, *, level: float = LEVEL) -> Bounds:
    """Return the interval of the accuracy of one model (Clopper-Pearson)."""
    return mean_interval(predictions.correct.astype(np.float64), predictions.groups, "rate", level=level)


def accuracy_difference_interval(model: Predictions, baseline: Predictions, *, level: float = LEVEL) -> Bounds:
    """Return the interval of accuracy(model) - accuracy(baseline), paired by sample (Tango)."""
    aligned = align([model, baseline])
    difference = aligned[0].correct.astype(np.float64) - aligned[1].correct  # [N]
    return mean_interval(difference, shared_groups(aligned), "difference", level=level)


def nfr_interval(reference: Predictions, new: Predictions, *, level: float = LEVEL) -> Bounds:
    """Return the interval of the negative flip rate (Clopper-Pearson)."""
    return mean_nfr_interval([reference, new], level=level)


def mean_nfr_interval(family: Sequence[Predictions], *, level: float = LEVEL) -> Bounds:
    """Return the interval of the mean NFR of a family, given from the smallest to the largest member."""
    aligned = align(family)
    return mean_interval(mean_nfr_values(aligned), shared_groups(aligned), "rate", level=level)


def mean_nfr_difference_interval(
    family: Sequence[Predictions], baseline: Sequence[Predictions], *, level: float = LEVEL
) -> Bounds:
    """Return the interval of mean NFR(family) - mean NFR(baseline), paired by sample."""
    aligned = align([*family, *baseline])
    difference = mean_nfr_values(aligned[: len(family)]) - mean_nfr_values(aligned[len(family) :])  # [N]
    return mean_interval(difference, shared_groups(aligned), "difference", level=level)


def mean_nfr(models: Sequence[Predictions]) -> float:
    """Return the negative flip rate averaged over all pairs of an earlier and a later model.

    Args:
        models: from the smallest or oldest to the largest or newest.
    """
    return float(mean_nfr_values(models).mean())


def mean_nfr_values(family: Sequence[Predictions]) -> NDArray[np.float64]:
    """Return per sample the share of pairs i < j with i correct and j wrong: [N]; its mean is the mean NFR.

    The samples are in the order of the first model. Align two families together before you subtract their values.
    """
    if len(family) < 2:
        raise ArtifactError(f"mean NFR needs at least two models, got {len(family)}")
    aligned = align(family)
    right_before = np.zeros(len(aligned[0]), dtype=np.int64)  # [N], smaller models that are correct on the sample
    flips = np.zeros_like(right_before)
    for member in aligned:
        flips += np.where(member.correct, 0, right_before)
        right_before += member.correct
    pairs = len(aligned) * (len(aligned) - 1) // 2
    return flips / pairs
