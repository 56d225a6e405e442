"""Predict the reward of candidates from those that were evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.search.algorithms.asking import Scored
from regnas.search.feasibility import Standing
from regnas.space import Architecture, SearchSpace, gene_choices


class RewardSurrogate:
    """Bayesian ridge regression of the reward on the value of every gene and on the multiply-adds.

    Each value of a gene has its own column, because effects need not be monotonic. All columns of an inactive block are
    0. With tens to hundreds of candidates and about as many columns, a sum of effects with learned shrinkage ranks
    better than trees, and as well as a Gaussian process, which takes ten times longer. The reward itself is fitted, so
    its parts need no weights. If flips are limited, the excess over the limit is fitted in the same way. Unlike the
    violation, the excess also distinguishes feasible candidates.
    """

    def __init__(self, space: SearchSpace, told: Sequence[Scored]) -> None:
        values = [(gene, value) for gene, values in gene_choices(space).items() for value in values]
        self._column = {pair: column for column, pair in enumerate(values)}
        self._space = space
        macs = np.array([trial.macs for trial in told], np.float64)
        self._center, self._spread = float(macs.mean()), float(macs.std()) or 1.0
        encoded = self._encode([trial.architecture for trial in told])
        excesses = [trial.excess for trial in told if trial.excess is not None]
        self._reward = _fit(encoded, [trial.reward for trial in told])
        self._excess = _fit(encoded, excesses) if len(excesses) == len(told) else None

    def predict(self, architectures: Sequence[Architecture]) -> NDArray[np.float64]:
        """Return the predicted reward of each architecture: [N]."""
        predicted: NDArray[np.float64] = self._reward.predict(self._encode(architectures))
        return predicted

    def standings(self, architectures: Sequence[Architecture]) -> list[Standing]:
        """Return violation and reward of each architecture, to be sorted by constraint domination."""
        encoded = self._encode(architectures)
        rewards = self._reward.predict(encoded)  # [N]
        excesses = np.zeros(len(encoded)) if self._excess is None else self._excess.predict(encoded)  # [N]
        return list(zip(np.maximum(excesses, 0).tolist(), (-rewards).tolist(), strict=True))

    def _encode(self, architectures: Sequence[Architecture]) -> NDArray[np.float64]:
        encoded = np.zeros((len(architectures), len(self._column) + 1))
        for row, architecture in zip(encoded, architectures, strict=True):
            row[[self._column[pair] for pair in architecture.genes().items()]] = 1.0
            row[-1] = (self._space.cost(architecture).macs - self._center) / self._spread
        return encoded


def _fit(encoded: NDArray[np.float64], values: Sequence[float]) -> Any:
    from sklearn.linear_model import BayesianRidge  # here because it takes a second to import

    return BayesianRidge().fit(encoded, np.array(values, np.float64))
