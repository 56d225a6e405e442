"""Choose the candidate with the fewest flips among those as accurate as the untreated model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regnas.errors import ArtifactError
from regnas.flips.bootstrap import bootstrap_means


def one_standard_error_choice(
    errors: Sequence[NDArray[np.float64]],
    flips: Sequence[NDArray[np.float64]],
    untreated_errors: NDArray[np.float64],
    groups: NDArray[np.int64] | None,
) -> int | None:
    """Choose by the rule of one standard error (Breiman et al., 1984).

    A candidate is eligible if its mean error exceeds that of the untreated model by at most the standard error of this
    paired difference, with whole clusters as units. The eligible candidate with the fewest flips is chosen. Ties go to
    the lower error, then to the candidate that comes first.

    Args:
        errors: per candidate, the errors of each sample [N], 0 or 1, averaged over models and seeds.
        flips: per candidate, the negative flips of each sample [N], averaged in the same way.
        untreated_errors: the errors of the untreated model, [N].
        groups: the cluster of each sample, [N]; None if the samples are independent.

    Returns:
        The index of the chosen candidate, or None if no candidate is eligible.
    """
    if len(errors) != len(flips):
        raise ArtifactError(f"errors and flips must be of the same candidates, got {len(errors)} and {len(flips)}")
    eligible = [index for index, each in enumerate(errors) if _as_accurate(each - untreated_errors, groups)]
    return min(eligible, key=lambda index: (_mean(flips[index]), _mean(errors[index])), default=None)


def _as_accurate(difference: NDArray[np.float64], groups: NDArray[np.int64] | None) -> bool:
    standard_error = bootstrap_means(difference[:, None], groups)[:, 0].std()  # [B, 1] -> [B] -> scalar
    return _mean(difference) <= float(standard_error)


def _mean(values: NDArray[np.float64]) -> float:
    """Return the mean, rounded: means that differ only by the rounding of their sums are a tie."""
    return round(float(values.mean()), 12)
