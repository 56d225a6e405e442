"""The numbers of a family's report, as values; ``flips.json`` is their JSON.

Rates are fractions. Differences are the method minus the family: a positive difference of NFR favors the family, a
positive difference of Top-1 favors the method.
"""

from __future__ import annotations

from dataclasses import dataclass

from regnas.family.decision import Decision
from regnas.flips import PairStatistics
from regnas.flips.paired import Bounds
from regnas.report.diagnostics import FlipDiagnostics
from regnas.report.kit.json_values import JsonResult, Text
from regnas.report.tuning import Choice


@dataclass(frozen=True)
class MemberResult:
    """A network of a method, at the place of one member of the family."""

    name: Text
    macs: int
    parameters: int
    architecture: Text
    top1: float
    top1_interval: Bounds
    top1_difference: float | None  # from the family's member; None for the family itself
    top1_difference_interval: Bounds | None


@dataclass(frozen=True)
class PairResult:
    """A smaller member (reference) and a larger one (new), with the same numbers as ``regnas compare``."""

    reference: Text
    new: Text
    nfr: float
    nfr_interval: Bounds
    pfr: float
    relative_nfr: float
    btc: float
    bec: float
    accuracy_difference: float
    accuracy_difference_interval: Bounds
    mcnemar_p: float
    mcnemar_p_corrected: float

    @classmethod
    def of(
        cls, reference: str, new: str, found: PairStatistics, *, relative_nfr: float, btc: float, bec: float
    ) -> PairResult:
        return cls(
            reference=reference,
            new=new,
            nfr=found.nfr,
            nfr_interval=found.nfr_interval,
            pfr=found.pfr,
            relative_nfr=relative_nfr,
            btc=btc,
            bec=bec,
            accuracy_difference=found.accuracy_difference,
            accuracy_difference_interval=found.accuracy_difference_interval,
            mcnemar_p=found.mcnemar_p,
            mcnemar_p_corrected=found.mcnemar_p_corrected,
        )


@dataclass(frozen=True)
class MethodResult:
    """The family, or a baseline compared with it.

    The mean NFR is over the pairs; None for a single member, which has no pairs. ``verdict`` and the differences are
    None for the family.
    """

    name: Text
    title: Text
    description: Text
    verdict: Text | None
    training_macs: int
    models: tuple[MemberResult, ...]
    pairs: tuple[PairResult, ...]
    nfr_matrix: tuple[tuple[float, ...], ...]  # [K, K]; row: reference, column: new; below the diagonal backward
    mean_nfr: float | None
    mean_nfr_interval: Bounds | None
    mean_nfr_difference: float | None
    mean_nfr_difference_interval: Bounds | None


@dataclass(frozen=True)
class FamilyComparison(JsonResult):
    """Every number of the report; the first method is the family."""

    title: Text
    samples: int
    clusters: int
    members: tuple[Text, ...]
    budgets: tuple[Text, ...]
    interval_level: float
    methods: tuple[MethodResult, ...]
    tuning: tuple[Choice, ...]
    summary: Text
    diagnostics: FlipDiagnostics | None
    polishing: Decision | None = None  # None: the members were not to be polished
