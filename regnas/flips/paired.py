"""The samples that flip between two models, and what they say of all samples."""

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
    """Numbers of the samples that only the reference has right (lost) and only the new model (gained)."""

    lost: Counts
    gained: Counts

    @classmethod
    def between(cls, reference: NDArray[np.bool_], new: NDArray[np.bool_]) -> Flips:
        """``reference`` and ``new`` [N]: what each model has right."""
        return cls(np.flatnonzero(reference & ~new), np.flatnonzero(new & ~reference))

    def backward(self) -> Flips:
        return Flips(self.gained, self.lost)

    def nfr_intervals(self, partition: Partition, level: float = LEVEL) -> list[Bounds]:
        """The interval of the NFR in each part."""
        rates = partition.count(self.lost) / partition.samples
        low, high = rate_interval(rates, partition.independent(self.lost, level=level), level)
        return list(zip(low.tolist(), high.tolist(), strict=True))

    def accuracy_difference(self, whole: Partition) -> float:
        """accuracy(new) - accuracy(reference) = PFR - NFR."""
        return (len(self.gained) - len(self.lost)) / int(whole.samples[0])

    def accuracy_interval(self, whole: Partition, level: float = LEVEL) -> Bounds:
        """Of all samples, as independent as their clusters leave them."""
        samples = self.independent_samples(whole, level)  # [1]
        share = samples / whole.samples
        low, high = difference_interval(len(self.lost) * share, len(self.gained) * share, samples, level)
        return float(low[0]), float(high[0])

    def independent_samples(self, whole: Partition, level: float = LEVEL) -> Floats:
        """[1], how many independent samples the difference of the accuracies stands on."""
        return whole.independent(*self._sign(), level)

    def test(self, whole: Partition) -> float:
        """The exact McNemar test. Of clusters each has one vote, which it casts by what it gains on the whole."""
        if whole.cells is None:
            return sign_test(len(self.lost), len(self.gained))
        net = whole.cells.totals(*self._sign())  # [G]
        return sign_test(int(np.count_nonzero(net < 0)), int(np.count_nonzero(net > 0)))

    def _sign(self) -> tuple[Counts, Floats]:
        signs = np.concatenate([-np.ones(len(self.lost)), np.ones(len(self.gained))])
        return np.concatenate([self.lost, self.gained]), signs
