"""What a user would do instead, on the same data with the same epochs at the family's own architectures.

Every way of updating a model is a baseline of a family: the chain of releases is that of the members, and each larger
one follows the smaller. ``accuracy_only`` searches the same supernet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.components.registry import Registry
from regnas.runs.baselines.accuracy_only import AccuracyOnly
from regnas.runs.baselines.sources import Family, Inherited, Source, SubNetwork, plan_members
from regnas.updates.methods import METHODS, Method
from regnas.updates.methods.none import NoTreatment

Baseline = AccuracyOnly | Method


@dataclass(frozen=True)
class Independent(NoTreatment):
    """Independent training: every member on its own, from its own random start."""

    title: ClassVar[str] = "Independent training"


BASELINES: Registry[type[Baseline]] = Registry(
    "baseline",
    "",  # packages add methods, and every method is a baseline
    {"accuracy_only": AccuracyOnly, "independent": Independent},
    base=METHODS,
    without=("none",),
)


def check_baseline(label: str, baseline: Baseline, trains: bool) -> None:
    """Refuse with a ``ValueError`` what cannot be planned for the members of a family."""
    if isinstance(baseline, AccuracyOnly):
        return
    if not trains:
        raise ValueError(f"baselines.{label} trains networks: set training.epochs, or leave it out")
    if baseline.fine_tunes:
        raise ValueError(
            f"baselines.{label} starts from the weights of the smaller member, and members of a family differ in "
            "architecture: leave it out, or compare it with `regnas update`"
        )


__all__ = [
    "BASELINES",
    "AccuracyOnly",
    "Baseline",
    "Family",
    "Independent",
    "Inherited",
    "Source",
    "SubNetwork",
    "check_baseline",
    "plan_members",
]
