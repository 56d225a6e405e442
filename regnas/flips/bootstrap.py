"""Paired bootstrap over clusters of samples, and over seeds and clusters.

Resampling single samples of a cluster would count the same evidence many times, and the intervals would be too narrow.
Whole clusters are drawn instead. All models of a comparison use the same draw, so what they share cancels in a
difference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regnas.errors import ArtifactError
from regnas.runtime.randomness import generator

# Entries of the block of weights in memory: 32 MiB of float64.
BLOCK_ENTRIES = 2**22

RESAMPLES = 2000


def bootstrap_means(
    values: NDArray[np.float64],
    groups: NDArray[np.int64] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return means of values [N, S] under resampling of the G clusters: [resamples, S].

    One draw takes G clusters with replacement, cluster g w_g times, w ~ Multinomial(G, 1 / G); its mean is the ratio
    sum_g w_g * (sum of values in g) / sum_g w_g * (samples in g).
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or len(values) == 0 or not np.isfinite(values).all():
        raise ArtifactError(f"bootstrap: values must be finite and of shape [N, S], got {list(values.shape)}")
    if resamples < 1:
        raise ArtifactError(f"bootstrap: resamples must be at least 1, got {resamples}")
    totals = _cluster_totals(values, groups)  # [G, S + 1], the last column counts samples
    # Clusters with the same totals are interchangeable. Drawing how often each of the T kinds occurs has the same
    # distribution, is far cheaper if there are few kinds, and does not depend on the order of the samples.
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


def hierarchical_means(
    values: NDArray[np.float64], groups: NDArray[np.int64] | None = None, resamples: int = RESAMPLES, seed: int = 0
) -> NDArray[np.float64]:
    """Return means of values [S, N] of S seeds under resampling of seeds and of clusters: [resamples].

    Every seed was evaluated on the same samples: seeds and clusters are crossed, not nested. One draw therefore takes S
    seeds with replacement and, independently, G clusters with replacement; all seeds of a draw use the same clusters.
    If each seed had its own draw of clusters, more seeds would look like more samples.

    The variance of S seeds drawn from S is (S - 1) / S of that of S new seeds. The deviation of a draw that is due to
    its seeds is therefore multiplied by sqrt(S / (S - 1)). With one seed, only clusters are drawn.
    """
    means = bootstrap_means(np.asarray(values, dtype=np.float64).T, groups, resamples, seed)  # [B, S]
    seeds = means.shape[1]
    center: NDArray[np.float64] = means.mean(axis=1)  # [B]
    if seeds == 1:
        return center
    drawn = generator(seed, "flips", "seeds").multinomial(seeds, [1 / seeds] * seeds, size=resamples)  # [B, S]
    deviations: NDArray[np.float64] = (drawn * means).mean(axis=1) - center  # [B]
    return center + float(np.sqrt(seeds / (seeds - 1))) * deviations


def interval(draws: NDArray[np.float64], level: float = 0.95) -> tuple[float, float]:
    """Return the central interval that holds a share ``level`` of the draws [B] (percentile bootstrap)."""
    if not 0 < level < 1:
        raise ArtifactError(f"the level of an interval must be between 0 and 1, got {level}")
    if draws.ndim != 1:
        raise ArtifactError(f"the draws of an interval must have the shape [B], got {list(draws.shape)}")
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _cluster_totals(values: NDArray[np.float64], groups: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Return the sums of the values and the number of samples of each cluster: [G, S + 1]."""
    counted = np.column_stack([values, np.ones(len(values))])  # [N, S + 1]
    if groups is None:
        return counted
    if groups.shape != (len(values),):
        raise ArtifactError(f"bootstrap: groups must have the shape [{len(values)}], got {list(groups.shape)}")
    labels, cluster_of = np.unique(groups, return_inverse=True)  # [G], [N]
    columns = [np.bincount(cluster_of, weights=column, minlength=len(labels)) for column in counted.T]
    return np.column_stack(columns)
