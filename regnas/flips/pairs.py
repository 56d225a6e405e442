"""Statistics of every pair of models: the same numbers in every report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from regnas.flips.alignment import align, shared_groups
from regnas.flips.paired import Bounds, Flips
from regnas.flips.partitions import Partition
from regnas.flips.predictions import Predictions
from regnas.flips.significance import holm


@dataclass(frozen=True, eq=False)
class PairStatistics:
    """A reference and a new model.

    nfr_interval: Clopper-Pearson; accuracy_difference_interval: Tango; both with the effective number of samples
    mcnemar_p: exact; each cluster counts once
    mcnemar_p_corrected: for all pairs of the table (Holm)
    """

    flips: Flips
    nfr: float
    pfr: float
    nfr_interval: Bounds
    accuracy_difference: float
    accuracy_difference_interval: Bounds
    mcnemar_p: float
    mcnemar_p_corrected: float


def pair_statistics(
    correct: NDArray[np.bool_], groups: NDArray[np.int64] | None
) -> dict[tuple[int, int], PairStatistics]:
    """Compare every two of K models in both directions, from their correctness on the same samples [K, N].

    The p-values are corrected for the K (K - 1) / 2 pairs: the two directions of a pair are one test.
    """
    whole = Partition.whole(correct.shape[1], groups)
    among = list(combinations(range(len(correct)), 2))
    flips = [Flips.between(correct[low], correct[high]) for low, high in among]
    tests = [each.test(whole) for each in flips]
    found = {}
    for (low, high), change, tested, corrected in zip(among, flips, tests, holm(tests), strict=True):
        found[low, high] = _statistics(change, whole, tested, corrected)
        found[high, low] = _statistics(change.backward(), whole, tested, corrected)
    return found


def mcnemar_exact(reference: Predictions, new: Predictions) -> float:
    """Return the two-sided p-value of the exact McNemar test (McNemar, 1947).

    Of the b + c samples on which exactly one model is correct, b are negative flips and c positive flips. If both
    models are equally good, b ~ Binomial(b + c, 1/2). Without such samples, p is 1.0. If the samples come in clusters
    (``Predictions.groups``), each cluster counts once: b clusters lose more than they gain, c gain more than they lose.
    """
    aligned = align([reference, new])
    flips = Flips.between(aligned[0].correct, aligned[1].correct)
    return flips.test(Partition.whole(len(aligned[0]), shared_groups(aligned)))


def pairs_of(models: Sequence[Predictions]) -> dict[tuple[int, int], PairStatistics]:
    """Compare every two of the models in both directions, joined by sample id."""
    aligned = align(models)
    return pair_statistics(np.stack([each.correct for each in aligned]), shared_groups(aligned))


def _statistics(flips: Flips, whole: Partition, tested: float, corrected: float) -> PairStatistics:
    samples = int(whole.samples[0])
    return PairStatistics(
        flips=flips,
        nfr=len(flips.lost) / samples,
        pfr=len(flips.gained) / samples,
        nfr_interval=flips.nfr_intervals(whole)[0],
        accuracy_difference=flips.accuracy_difference(whole),
        accuracy_difference_interval=flips.accuracy_interval(whole),
        mcnemar_p=tested,
        mcnemar_p_corrected=corrected,
    )
