"""What a candidate will be worth, from those that were evaluated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regnas.search.algorithms.asking import Scored
from regnas.space import Architecture, SearchSpace, gene_choices


class RewardSurrogate:
    """Bayesian ridge regression of the reward on which value every gene has, and on the multiply-adds.

    Each value of a gene has a column of its own, so that effects need not grow along a gene; all columns of a block
    that is not active are 0. With tens to hundreds of candidates and about as many columns, such a sum of effects
    whose shrinkage is learnt ranks better than trees, and as well as a Gaussian process that takes ten times longer.
    The reward itself is fitted and not its parts, so that no part has to be weighed again.
    """

    def __init__(self, space: SearchSpace, told: Sequence[Scored]) -> None:
        from sklearn.linear_model import BayesianRidge  # here because it takes a second to import

        values = [(gene, value) for gene, values in gene_choices(space).items() for value in values]
        self._column = {pair: column for column, pair in enumerate(values)}
        self._space = space
        macs = np.array([trial.macs for trial in told], np.float64)
        self._centre, self._spread = float(macs.mean()), float(macs.std()) or 1.0
        rewards = np.array([trial.reward for trial in told], np.float64)
        self._model = BayesianRidge().fit(self._encoded([trial.architecture for trial in told]), rewards)

    def predict(self, architectures: Sequence[Architecture]) -> NDArray[np.float64]:
        predicted: NDArray[np.float64] = self._model.predict(self._encoded(architectures))
        return predicted

    def _encoded(self, architectures: Sequence[Architecture]) -> NDArray[np.float64]:
        encoded = np.zeros((len(architectures), len(self._column) + 1))
        for row, architecture in zip(encoded, architectures, strict=True):
            row[[self._column[pair] for pair in architecture.genes().items()]] = 1.0
            row[-1] = (self._space.cost(architecture).macs - self._centre) / self._spread
        return encoded
