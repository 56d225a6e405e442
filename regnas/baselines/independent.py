"""No treatment: what people do who have not heard of negative flips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from regnas.baselines.sources import Family, planned
from regnas.methods.none import NoTreatment
from regnas.models import Model

if TYPE_CHECKING:  # workers that only train need no study
    from regnas.search import FamilySearch


@dataclass(frozen=True)
class Independent:
    """Independent training: every member on its own, from its own random start."""

    title: ClassVar[str] = "Independent training"
    trains: ClassVar[bool] = True

    def plan(self, family: Family, search: FamilySearch) -> dict[str, Model]:
        return planned(NoTreatment(), family)
