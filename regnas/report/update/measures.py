"""The measures of an update: rates over seeds, and paired differences. Rates are fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regnas.flips.paired import Bounds
from regnas.report.kit.json_values import Text


@dataclass(frozen=True)
class Measure:
    """A rate over the seeds.

    Attributes:
        mean: The mean over the seeds.
        spread: The standard deviation over the seeds; None for one seed.
        values: The rate of each seed.
    """

    mean: float
    spread: float | None
    values: tuple[float, ...]


@dataclass(frozen=True)
class MeanNfr(Measure):
    """The mean NFR over all pairs of an earlier and a later model, with its 95 % interval."""

    interval: Bounds

    @classmethod
    def of(cls, measure: Measure, interval: Bounds) -> MeanNfr:
        return cls(measure.mean, measure.spread, measure.values, interval)


@dataclass(frozen=True)
class _OfModel:
    model: Text


@dataclass(frozen=True)
class ErrorRate(Measure, _OfModel):  # in this order, the fields and the keys of the JSON begin with the model
    """The error rate of one model."""

    @classmethod
    def of(cls, model: str, measure: Measure) -> ErrorRate:
        return cls(model, measure.mean, measure.spread, measure.values)


@dataclass(frozen=True)
class Difference:
    """A method minus its counterpart, on the same seeds and samples, with its 95 % interval."""

    mean: float
    interval: Bounds


def in_percent(measures: Sequence[Measure]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and spreads in percent; the spread of a single seed is unknown and returned as 0."""
    means = 100 * np.array([measure.mean for measure in measures], dtype=float)
    return means, 100 * np.array([measure.spread or 0 for measure in measures], dtype=float)
