"""Focal distillation of a single network to the one before it (PCT: Yan et al., CVPR 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from regnas.baselines.sources import Family, planned
from regnas.methods.focal_distillation_lm import FocalDistillationLM
from regnas.models import Model

if TYPE_CHECKING:  # workers that only train need no study
    from regnas.search import FamilySearch


@dataclass(frozen=True)
class FocalDistillation:
    """FD-LM: every member but the smallest is trained with focal distillation to the next smaller one."""

    alpha: float = 1.0
    beta: float = 5.0
    weight: float = 1.0

    title: ClassVar[str] = "Focal distillation (FD-LM)"
    trains: ClassVar[bool] = True

    def plan(self, family: Family, search: FamilySearch) -> dict[str, Model]:
        return planned(FocalDistillationLM(self.alpha, self.beta, self.weight), family)
