"""Focal distillation of a single network to the one before it (PCT: Yan et al., CVPR 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from regnas.baselines.sources import Training
from regnas.losses import FocalDistillationLM
from regnas.space import Architecture

if TYPE_CHECKING:  # workers that only train need no study
    from regnas.search import FamilySearch


@dataclass(frozen=True)
class FocalDistillation:
    """FD-LM: every member but the smallest is trained with focal distillation to the next smaller one."""

    alpha: float = 1.0
    beta: float = 5.0
    weight: float = 1.0

    title: ClassVar[str] = "Focal distillation (FD-LM)"

    def plan(self, family: Mapping[str, Architecture], search: FamilySearch) -> dict[str, Training]:
        loss = FocalDistillationLM(self.alpha, self.beta)
        plan: dict[str, Training] = {}
        for name, architecture in family.items():
            smaller = list(plan.values())[-1:]
            plan[name] = (
                Training(architecture, loss=loss, weight=self.weight, teachers=tuple(smaller))
                if smaller
                else Training(architecture)
            )
        return plan
