"""Distillation to the old model, with equal weight for all samples (Hinton, Vinyals and Dean, 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas import losses
from regnas.updates.methods.chain import Chain, Mixture, label_weight, lessons
from regnas.updates.methods.tunable import tunable
from regnas.updates.models import Model


@dataclass(frozen=True)
class KnowledgeDistillation:
    """KD: distillation to the old model with equal weight for all samples, at the temperature of PCT and ELODI."""

    temperature: float = 100.0
    weight: float = tunable(1.0)
    mixture: Mixture = "sum"

    title: ClassVar[str] = "KD"
    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        label_weight(self.weight, self.mixture)
        losses.KnowledgeDistillation(self.temperature)

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        loss = losses.KnowledgeDistillation(self.temperature)
        labels = label_weight(self.weight, self.mixture)
        return chain.targeted(
            lambda stage, previous, references: stage.train(
                previous, label_weight=labels, lessons=lessons(loss, self.weight, references)
            )
        )
