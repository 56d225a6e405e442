"""What two models of a table have to say to each other: the same numbers in every report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from regnas.flips.alignment import align
from regnas.flips.clusters import shared_groups
from regnas.flips.paired import Bounds, Flips
from regnas.flips.partitions import Partition
from regnas.flips.predictions import Predictions
from regnas.flips.significance import holm


@dataclass(frozen=True, eq=False)
class PairStatistics:
    """A reference and a new model.

    nfr_interval: Clopper-Pearson, accuracy_difference_interval: Tango, both of as many independent samples as the
    clusters leave
    mcnemar_p: exact; of clusters each has one vote
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
    """Compare every two of K models in both directions, from what they have right on the same samples [K, N].

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


def pairs_of(models: Sequence[Predictions]) -> dict[tuple[int, int], PairStatistics]:
    """The same from predictions, joined by sample id."""
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
