"""Distillation on samples for which the old model gives the label more probability (Xie et al., ACL 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas import losses
from regnas.updates.methods.chain import Chain, Mixture, label_weight, lessons
from regnas.updates.methods.tunable import tunable
from regnas.updates.models import Model


@dataclass(frozen=True)
class DynamicFocalDistillation:
    """Dynamic FD: distillation to the old model if it gives the label more probability than the new model does."""

    temperature: float = 1.0
    weight: float = tunable(1.0)
    mixture: Mixture = "sum"

    title: ClassVar[str] = "Dynamic FD"
    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        label_weight(self.weight, self.mixture)
        losses.DynamicFocalDistillation(self.temperature)

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        loss = losses.DynamicFocalDistillation(self.temperature)
        labels = label_weight(self.weight, self.mixture)
        return chain.targeted(
            lambda stage, previous, references: stage.train(
                previous, label_weight=labels, lessons=lessons(loss, self.weight, references)
            )
        )
