"""The samples that flip between two models, and the statistics that follow from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regnas.flips.closed_forms import LEVEL, Floats, difference_interval, rate_interval
from regnas.flips.partitions import Counts, Partition
from regnas.flips.significance import sign_test

Bounds = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Flips:
    """Indices of the samples that only the reference (lost) or only the new model (gained) gets right."""

    lost: Counts
    gained: Counts

    @classmethod
    def between(cls, reference: NDArray[np.bool_], new: NDArray[np.bool_]) -> Flips:
        """Return the flips between two models; ``reference`` and ``new`` [N]: where each model is correct."""
        return cls(np.flatnonzero(reference & ~new), np.flatnonzero(new & ~reference))

    def nfr_intervals(self, partition: Partition, level: float = LEVEL) -> tuple[Floats, Floats]:
        """Return the ends of the interval of the NFR in each of V parts: [V], [V]."""
        rates = partition.count(self.lost) / partition.samples
        return rate_interval(rates, partition.independent(self.lost, level=level), level)

    def accuracy_difference(self, whole: Partition) -> float:
        """Return accuracy(new) - accuracy(reference) = PFR - NFR."""
        return (len(self.gained) - len(self.lost)) / int(whole.samples[0])

    def accuracy_interval(self, whole: Partition, level: float = LEVEL) -> Bounds:
        """Return the interval of the accuracy difference, with the effective number of samples (Tango)."""
        samples = self.independent_samples(whole, level)  # [1]
        share = samples / whole.samples
        low, high = difference_interval(len(self.lost) * share, len(self.gained) * share, samples, level)
        return float(low[0]), float(high[0])

    def independent_samples(self, whole: Partition, level: float = LEVEL) -> Floats:
        """Return the effective number of samples of the accuracy difference: [1]."""
        return whole.independent(*self._sign(), level)

    def test(self, whole: Partition) -> float:
        """Return the p-value of the exact McNemar test. Each cluster counts once, by the sign of its net gain."""
        if whole.cells is None:
            return sign_test(len(self.lost), len(self.gained))
        net = whole.cells.totals(*self._sign())  # [G]
        return sign_test(int(np.count_nonzero(net < 0)), int(np.count_nonzero(net > 0)))

    def _sign(self) -> tuple[Counts, Floats]:
        signs = np.concatenate([-np.ones(len(self.lost)), np.ones(len(self.gained))])
        return np.concatenate([self.lost, self.gained]), signs
