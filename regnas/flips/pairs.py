"""Statistics of every pair of models: the same numbers in every report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from regnas.flips.alignment import align, shared_groups
from regnas.flips.closed_forms import Floats, difference_interval, rate_interval
from regnas.flips.paired import Bounds, Flips
from regnas.flips.partitions import Partition
from regnas.flips.predictions import Predictions
from regnas.flips.significance import holm


@dataclass(frozen=True)
class PairStatistics:
    """A reference and a new model.

    nfr_interval: Clopper-Pearson; accuracy_difference_interval: Tango; both with the effective number of samples
    mcnemar_p: exact; each cluster counts once
    mcnemar_p_corrected: for all pairs of the table (Holm)
    """

    negative_flips: int
    positive_flips: int
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
    samples = correct.shape[1]
    whole = Partition.whole(samples, groups)
    among = list(combinations(range(len(correct)), 2))
    forward = [_Counts.of(Flips.between(correct[low], correct[high]), whole) for low, high in among]
    both = [each for counts in forward for each in (counts, counts.backward())]
    corrected = [value for value in holm([each.p for each in forward]) for _ in range(2)]
    lost, gained, independent_of_lost, independent = (
        np.array([getattr(each, name) for each in both], dtype=np.float64)
        for name in ("lost", "gained", "independent_of_lost", "independent")
    )
    # All pairs at once: a hundred models have ten thousand.
    share = independent / samples
    rates = _bounds(rate_interval(lost / samples, independent_of_lost))
    differences = _bounds(difference_interval(lost * share, gained * share, independent))
    places = [place for low, high in among for place in ((low, high), (high, low))]
    return {
        place: PairStatistics(
            negative_flips=counts.lost,
            positive_flips=counts.gained,
            nfr=counts.lost / samples,
            pfr=counts.gained / samples,
            nfr_interval=rate,
            accuracy_difference=(counts.gained - counts.lost) / samples,
            accuracy_difference_interval=difference,
            mcnemar_p=counts.p,
            mcnemar_p_corrected=p,
        )
        for place, counts, rate, difference, p in zip(places, both, rates, differences, corrected, strict=True)
    }


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


@dataclass(frozen=True)
class _Counts:
    """The counts that the statistics of a pair are computed from.

    independent: the effective number of samples of the accuracy difference; independent_of_lost, independent_of_gained:
    of the NFR and the PFR
    """

    lost: int
    gained: int
    independent_of_lost: float
    independent_of_gained: float
    independent: float
    p: float

    @classmethod
    def of(cls, flips: Flips, whole: Partition) -> _Counts:
        of_lost, of_gained = (float(whole.independent(each)[0]) for each in (flips.lost, flips.gained))
        independent = float(flips.independent_samples(whole)[0])
        return cls(len(flips.lost), len(flips.gained), of_lost, of_gained, independent, flips.test(whole))

    def backward(self) -> _Counts:
        return _Counts(
            self.gained, self.lost, self.independent_of_gained, self.independent_of_lost, self.independent, self.p
        )


def _bounds(ends: tuple[Floats, Floats]) -> list[Bounds]:
    low, high = ends
    return list(zip(low.tolist(), high.tolist(), strict=True))
