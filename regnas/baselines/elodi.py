"""Ensemble logit difference inhibition (ELODI: Zhao et al.)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regnas.baselines.sources import Training
from regnas.losses import LogitDifferenceInhibition
from regnas.space import Architecture

if TYPE_CHECKING:  # workers that only train need no study
    from regnas.search import FamilySearch


@dataclass(frozen=True)
class Elodi:
    """ELODI: every member is distilled from an ensemble of m networks of its own architecture."""

    members: int = 8
    alpha: float = 0.8
    top_k: int = 10
    power: float = 2.0

    def __post_init__(self) -> None:
        if self.members < 1 or not 0 <= self.alpha <= 1:
            raise ValueError("members must be at least 1 and alpha between 0 and 1")

    @property
    def title(self) -> str:
        return f"ELODI (m = {self.members})"

    def plan(self, family: Mapping[str, Architecture], search: FamilySearch) -> dict[str, Training]:
        loss = LogitDifferenceInhibition(self.power, self.top_k)
        return {
            name: Training(
                architecture,
                label_weight=1 - self.alpha,
                loss=loss,
                weight=self.alpha,
                teachers=tuple(Training(architecture, repeat) for repeat in range(self.members)),
            )
            for name, architecture in family.items()
        }
