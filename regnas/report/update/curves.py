"""Curves of an update: sweeps of a key, and flips by epoch. Rates are fractions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from regnas.report.kit.json_values import Text
from regnas.report.update.measures import Difference, Measure


@dataclass(frozen=True)
class SweptValue:
    """The oldest and the newest model at one value of the key, on the report split and on the search split."""

    value: float
    error_rate: Measure
    nfr: Measure
    relative_nfr: Measure
    error_rate_difference: Difference  # from no treatment
    search_error_rate: float
    search_nfr: float


@dataclass(frozen=True)
class SweepResult:
    """A method at each value of one of its keys; ``chosen`` is the value that the search split favors, if any."""

    method: Text  # its label
    title: Text
    key: Text
    points: tuple[SweptValue, ...]
    chosen: float | None

    def is_chosen(self, point: SweptValue) -> bool:
        """Whether the search split favors this point."""
        return self.chosen is not None and math.isclose(point.value, self.chosen, abs_tol=1e-12)


@dataclass(frozen=True)
class EpochRates:
    """Rates at the end of each epoch."""

    error_rate: tuple[float, ...]
    nfr: tuple[float, ...]
    relative_nfr: tuple[float, ...]


@dataclass(frozen=True)
class SplitRates:
    """Rates at the end of each epoch on one split: means over the seeds, and the rates of each seed."""

    samples: int
    error_rate: tuple[float, ...]
    nfr: tuple[float, ...]
    relative_nfr: tuple[float, ...]
    by_seed: tuple[EpochRates, ...]


@dataclass(frozen=True)
class FlipsByEpoch:
    """The flips of a method's new model during its training."""

    label: Text
    title: Text
    reference: Text
    new: Text
    train: SplitRates
    report: SplitRates
    epochs: tuple[int, ...]
