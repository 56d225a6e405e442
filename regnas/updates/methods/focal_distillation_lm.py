"""Focal distillation by matching logits (PCT: Yan et al., CVPR 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas import losses
from regnas.updates.methods.chain import Chain, Mixture, label_weight, lessons
from regnas.updates.methods.tunable import tunable
from regnas.updates.models import Model


@dataclass(frozen=True)
class FocalDistillationLM:
    """FD-LM: distillation to the old model by the squared distance of logits, with more weight if it is correct."""

    alpha: float = 1.0
    beta: float = 5.0
    weight: float = tunable(1.0)
    mixture: Mixture = "sum"

    title: ClassVar[str] = "FD-LM"
    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        label_weight(self.weight, self.mixture)
        losses.FocalDistillationLM(self.alpha, self.beta)

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        loss = losses.FocalDistillationLM(self.alpha, self.beta)
        labels = label_weight(self.weight, self.mixture)
        return chain.targeted(
            lambda stage, previous, references: stage.train(
                previous, label_weight=labels, lessons=lessons(loss, self.weight, references)
            )
        )
