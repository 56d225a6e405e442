"""Ensemble logit difference inhibition (ELODI: Zhao et al.)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from regnas.baselines.sources import Family, planned
from regnas.methods import elodi
from regnas.models import Model

if TYPE_CHECKING:  # workers that only train need no study
    from regnas.search import FamilySearch


@dataclass(frozen=True)
class Elodi:
    """ELODI: every member is distilled from an ensemble of m networks of its own architecture."""

    members: int = 8
    alpha: float = 0.8
    top_k: int = 10
    power: float = 2.0

    trains: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._method()

    @property
    def title(self) -> str:
        return f"ELODI (m = {self.members})"

    def plan(self, family: Family, search: FamilySearch) -> dict[str, Model]:
        return planned(self._method(), family)

    def _method(self) -> elodi.Elodi:
        return elodi.Elodi(self.members, self.alpha, self.top_k, self.power)
