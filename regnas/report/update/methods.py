"""The results of one method of an update, as values. Rates are fractions.

A difference is the method minus its counterpart, which is no treatment, or plain fine-tuning for a method that starts
from the old weights. Differences ``..._to_none`` refer to no treatment for all methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regnas.flips import PairStatistics
from regnas.flips.paired import Bounds
from regnas.report.kit.json_values import Text
from regnas.report.update.measures import Difference, ErrorRate, MeanNfr, Measure

UNTREATED = "none"  # the name of no treatment among the methods
FINE_TUNING = "fine_tuning"
Counterpart = Literal["none", "fine_tuning"]


@dataclass(frozen=True)
class SeedPair:
    """A pair of models of one seed, with the same numbers as ``regnas compare`` gives for these predictions."""

    seed: int
    nfr: float
    pfr: float
    nfr_interval: Bounds
    accuracy_difference: float
    accuracy_difference_interval: Bounds
    mcnemar_p: float
    mcnemar_p_corrected: float

    @classmethod
    def of(cls, seed: int, found: PairStatistics) -> SeedPair:
        return cls(
            seed=seed,
            nfr=found.nfr,
            pfr=found.pfr,
            nfr_interval=found.nfr_interval,
            accuracy_difference=found.accuracy_difference,
            accuracy_difference_interval=found.accuracy_difference_interval,
            mcnemar_p=found.mcnemar_p,
            mcnemar_p_corrected=found.mcnemar_p_corrected,
        )


@dataclass(frozen=True)
class PairResult:
    """An earlier model (reference) and a later one (new). A difference is None if no prediction differs."""

    reference: Text
    new: Text
    nfr: Measure
    nfr_interval: Bounds
    relative_nfr: Measure
    pfr: Measure
    nfr_difference: Difference | None
    nfr_difference_to_none: Difference | None
    by_seed: tuple[SeedPair, ...]


@dataclass(frozen=True)
class MethodResult:
    """A method of replacing the old model, with its numbers.

    Attributes:
        name: The name of the method.
        label: The label of its row, which is unique.
        title: The name of the method in reports.
        description: What the method does.
        counterpart: The row that its differences refer to: "none" (no treatment) or "fine_tuning".
        error_rates: The error rate of each model, the oldest first.
        pairs: The flips of each pair of an earlier and a later model.
        mean_nfr: The mean NFR over the pairs.
        mean_nfr_difference: The mean NFR minus that of the counterpart; None if no prediction differs.
        mean_nfr_difference_to_none: The mean NFR minus that of no treatment.
        error_rate_difference: The error rate of the newest model minus that of the counterpart.
        error_rate_difference_to_none: The error rate of the newest model minus that without treatment.
        parameters: Parameters of the newest model at inference.
        training_cost: Multiply-adds of its training, as a multiple of no treatment.
        on_front: Whether no other method has both a lower error rate and a lower mean NFR.
    """

    name: Text
    label: Text
    title: Text
    description: Text
    counterpart: Counterpart
    error_rates: tuple[ErrorRate, ...]
    pairs: tuple[PairResult, ...]
    mean_nfr: MeanNfr
    mean_nfr_difference: Difference | None
    mean_nfr_difference_to_none: Difference | None
    error_rate_difference: Difference | None
    error_rate_difference_to_none: Difference | None
    parameters: int
    training_cost: float
    on_front: bool

    @property
    def error_rate(self) -> ErrorRate:
        """The error rate of the newest model."""
        return self.error_rates[-1]

    @property
    def starts_from_old(self) -> bool:
        """Whether the differences of the method refer to plain fine-tuning."""
        return self.counterpart == FINE_TUNING
