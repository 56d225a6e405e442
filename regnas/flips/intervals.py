"""Paired bootstrap over clusters of samples.

Variants of one original (augmentations, crops, frames) stand or fall together: resampling them one by one would count
the same evidence many times and give intervals that are too narrow. Whole clusters are drawn instead, and all the
models of a comparison are seen through the same draw, so that what they share cancels in a difference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regnas.errors import ArtifactError
from regnas.flips.alignment import align
from regnas.flips.predictions import Predictions
from regnas.runtime.randomness import generator

# Entries of the block of weights that is held at once: 32 MiB of float64.
BLOCK_ENTRIES = 2**22


def bootstrap_means(
    values: NDArray[np.float64],
    groups: NDArray[np.int64] | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Means of values [N, S] under resampling of the G clusters: [resamples, S].

    One draw takes G clusters with replacement, cluster g w_g times, w ~ Multinomial(G, 1 / G); its mean is the ratio
    sum_g w_g * (sum of values in g) / sum_g w_g * (samples in g).
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or len(values) == 0 or not np.isfinite(values).all():
        raise ArtifactError(f"bootstrap: values must be finite and of shape [N, S], not {list(values.shape)}")
    if resamples < 1:
        raise ArtifactError(f"bootstrap: resamples must be at least 1, not {resamples}")
    totals = _cluster_totals(values, groups)  # [G, S + 1], the last column counts samples
    # Clusters with the same totals are interchangeable: drawing how often each kind T occurs has exactly the same
    # distribution, is far cheaper for indicators (few kinds), and does not depend on the order of the samples.
    kinds, counts = np.unique(totals, axis=0, return_counts=True)  # [T, S + 1], [T]
    random = generator(seed, "flips", "bootstrap")
    probabilities = counts / len(totals)
    means = np.empty((resamples, values.shape[1]))
    step = max(1, BLOCK_ENTRIES // len(kinds))
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        weights = random.multinomial(len(totals), probabilities, size=stop - start)  # [b, T]
        drawn = weights.astype(np.float64) @ kinds  # [b, S + 1]
        means[start:stop] = drawn[:, :-1] / drawn[:, -1:]
    return means


def interval(draws: NDArray[np.float64], level: float = 0.95) -> tuple[float, float]:
    """The central interval that holds a share ``level`` of the draws [B] (percentile bootstrap)."""
    if not 0 < level < 1:
        raise ArtifactError(f"the level of an interval lies between 0 and 1, not {level}")
    if draws.ndim != 1:
        raise ArtifactError(f"an interval is of one statistic: draws must have shape [B], not {list(draws.shape)}")
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def accuracy_interval(
    predictions: Predictions, *, resamples: int = 2000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """Interval of the accuracy of one model."""
    return _mean_interval(predictions.correct.astype(np.float64), [predictions], resamples, seed, level)


def accuracy_difference_interval(
    model: Predictions, baseline: Predictions, *, resamples: int = 2000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """Interval of accuracy(model) - accuracy(baseline), paired by sample."""
    aligned = align([model, baseline])
    difference = aligned[0].correct.astype(np.float64) - aligned[1].correct  # [N]
    return _mean_interval(difference, aligned, resamples, seed, level)


def nfr_interval(
    reference: Predictions, new: Predictions, *, resamples: int = 2000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """Interval of the negative flip rate."""
    return mean_nfr_interval([reference, new], resamples=resamples, seed=seed, level=level)


def mean_nfr_interval(
    family: Sequence[Predictions], *, resamples: int = 2000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """Interval of the mean NFR of a family given from the smallest to the largest."""
    aligned = align(family)
    return _mean_interval(mean_nfr_values(aligned), aligned, resamples, seed, level)


def mean_nfr_difference_interval(
    family: Sequence[Predictions],
    baseline: Sequence[Predictions],
    *,
    resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[float, float]:
    """Interval of mean NFR(family) - mean NFR(baseline), both seen through the same draws of clusters."""
    aligned = align([*family, *baseline])
    difference = mean_nfr_values(aligned[: len(family)]) - mean_nfr_values(aligned[len(family) :])  # [N]
    return _mean_interval(difference, aligned, resamples, seed, level)


def mean_nfr_values(family: Sequence[Predictions]) -> NDArray[np.float64]:
    """For each sample the share of pairs i < j of the family with i right and j wrong: [N], its mean is the mean NFR.

    In the sample order of the first model: align two families together before subtracting their values.
    """
    if len(family) < 2:
        raise ArtifactError(f"mean NFR needs at least two models, got {len(family)}")
    aligned = align(family)
    right_before = np.zeros(len(aligned[0]), dtype=np.int64)  # [N], smaller models that have the sample right
    flips = np.zeros_like(right_before)
    for member in aligned:
        flips += np.where(member.correct, 0, right_before)
        right_before += member.correct
    pairs = len(aligned) * (len(aligned) - 1) // 2
    return flips / pairs


def _mean_interval(
    values: NDArray[np.float64], aligned: Sequence[Predictions], resamples: int, seed: int, level: float
) -> tuple[float, float]:
    draws = bootstrap_means(values[:, None], shared_groups(aligned), resamples, seed)  # [B, 1]
    return interval(draws[:, 0], level)


def shared_groups(aligned: Sequence[Predictions]) -> NDArray[np.int64] | None:
    """The clusters that the aligned models agree on; models saved without clusters follow the others."""
    known = [each for each in aligned if each.groups is not None]
    for each in known[1:]:
        if not np.array_equal(known[0].groups, each.groups):  # type: ignore[arg-type]  # known holds no None
            raise ArtifactError(
                f'"{known[0].model}" and "{each.model}" group the same samples into different clusters; '
                "predict both on the same split"
            )
    return known[0].groups if known else None


def _cluster_totals(values: NDArray[np.float64], groups: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Sums of the values and number of samples of each cluster: [G, S + 1]."""
    counted = np.column_stack([values, np.ones(len(values))])  # [N, S + 1]
    if groups is None:
        return counted
    if groups.shape != (len(values),):
        raise ArtifactError(f"bootstrap: groups have shape {list(groups.shape)}, expected [{len(values)}]")
    labels, cluster_of = np.unique(groups, return_inverse=True)  # [G], [N]
    columns = [np.bincount(cluster_of, weights=column, minlength=len(labels)) for column in counted.T]
    return np.column_stack(columns)
