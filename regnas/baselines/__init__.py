"""What a user would do instead, on the same data with the same epochs at the family's own architectures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol

from regnas.baselines.accuracy_only import AccuracyOnly
from regnas.baselines.elodi import Elodi
from regnas.baselines.focal_distillation import FocalDistillation
from regnas.baselines.independent import Independent
from regnas.baselines.sources import Family, Inherited, Source, SubNetwork, architecture_of
from regnas.registry import Registry

if TYPE_CHECKING:  # workers that only train need no study
    from regnas.search import FamilySearch


class Baseline(Protocol):
    trains: ClassVar[bool]  # networks of its own, with the epochs of the configuration

    @property
    def title(self) -> str: ...

    def plan(self, family: Family, search: FamilySearch) -> Mapping[str, Source]:
        """For each member of the family, the network that stands in its place."""
        ...


BASELINES: Registry[Baseline] = Registry(
    "baseline",
    {
        "independent": Independent,
        "focal_distillation": FocalDistillation,
        "elodi": Elodi,
        "accuracy_only": AccuracyOnly,
    },
)

__all__ = ["BASELINES", "Baseline", "Family", "Inherited", "Source", "SubNetwork", "architecture_of"]
