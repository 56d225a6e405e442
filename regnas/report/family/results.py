"""The numbers of a family's report, as values; ``to_json`` is the content of ``flips.json``.

Rates are fractions. Differences are the method minus the family: a positive difference of NFR favors the family, a
positive difference of Top-1 favors the method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regnas.flips import PairStatistics
from regnas.flips.paired import Bounds
from regnas.report.kit.json_values import json_value


@dataclass(frozen=True)
class MemberResult:
    """A network of a method, at the place of one member of the family."""

    name: str
    macs: int
    parameters: int
    architecture: str
    top1: float
    top1_interval: Bounds
    top1_difference: float | None  # from the family's member; None for the family itself
    top1_difference_interval: Bounds | None


@dataclass(frozen=True)
class PairResult:
    """A smaller member (reference) and a larger one (new); the numbers that ``regnas compare`` gives too."""

    reference: str
    new: str
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

    name: str
    title: str
    description: str
    verdict: str | None
    training_macs: int
    models: tuple[MemberResult, ...]
    pairs: tuple[PairResult, ...]
    nfr_matrix: tuple[tuple[float, ...], ...]  # [K, K]; row: reference, column: new; below the diagonal backward
    mean_nfr: float | None
    mean_nfr_interval: Bounds | None
    mean_nfr_difference: float | None
    mean_nfr_difference_interval: Bounds | None


@dataclass(frozen=True)
class FamilyComparison:
    """Every number of the report; the first method is the family."""

    title: str
    samples: int
    clusters: int
    members: tuple[str, ...]
    budgets: tuple[str, ...]
    interval_level: float
    methods: tuple[MethodResult, ...]
    tuning: tuple[Mapping[str, Any], ...]
    summary: str
    diagnostics: Mapping[str, Any] | None

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> FamilyComparison:
        """Read the content of ``flips.json``; raise ``ValueError`` if it is something else."""
        from pydantic import TypeAdapter

        return TypeAdapter(cls).validate_python(content)

    def to_json(self) -> dict[str, Any]:
        """The content of ``flips.json``."""
        content: dict[str, Any] = json_value(self)
        return content
