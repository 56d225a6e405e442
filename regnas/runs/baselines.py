"""Baselines: what a user would do without a family, on the same data with the same epochs and architectures.

Every method of updating a model is a baseline of a family: its chain of releases is the chain of members, and each
larger member follows the smaller one. ``accuracy_only`` searches the same supernet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from regnas.components.registry import Registry
from regnas.space import Architecture
from regnas.supernet import InputShape, SupernetPlugin
from regnas.updates.methods import METHODS, Chain, ChainStage, Method, Release
from regnas.updates.methods.none import NoTreatment
from regnas.updates.models import Model


@dataclass(frozen=True)
class SubNetwork:
    """The plain network of an architecture, with its own weights."""

    plugin: SupernetPlugin
    architecture: Architecture

    def build(self, input_shape: InputShape, classes: int) -> nn.Module:
        """Build the network with random weights."""
        return self.plugin.network(self.architecture, input_shape, classes)


Family = Mapping[str, SubNetwork]  # by member, from the smallest to the largest


@dataclass(frozen=True)
class AccuracyOnly:
    """Accuracy-only search (R0, no containment) of the same supernet with as many candidates."""

    title: ClassVar[str] = "Accuracy-only search (OFA)"


@dataclass(frozen=True)
class Independent(NoTreatment):
    """Independent training: every member on its own, from its own random start."""

    title: ClassVar[str] = "Independent training"


Baseline = AccuracyOnly | Method

BASELINES: Registry[type[Baseline]] = Registry(
    "baseline",
    "",  # packages add methods, and every method is a baseline
    {"accuracy_only": AccuracyOnly, "independent": Independent},
    base=METHODS,
    without=("none",),
)


def check_baseline(label: str, baseline: Baseline, trains: bool) -> None:
    """Raise ``ValueError`` for a baseline that cannot be planned for the members of a family."""
    if isinstance(baseline, AccuracyOnly):
        return
    if not trains:
        raise ValueError(f"training.epochs must be at least 1 for baselines.{label}, got 0. Set it, or leave it out.")
    if baseline.fine_tunes:
        raise ValueError(
            f"baselines.{label} must not start from old weights, because members of a family differ in architecture. "
            "Leave it out, or compare it with `regnas update`."
        )


def plan_members(method: Method, family: Family) -> dict[str, Model]:
    """Plan a method of updating a model along the members of a family: each larger one follows the smaller."""
    chain = Chain(tuple(ChainStage(name, Release(network)) for name, network in family.items()))
    return dict(zip(family, method.plan(chain), strict=True))
