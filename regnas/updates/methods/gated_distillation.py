"""Distillation to one of two models, chosen per sample (MUSCLE: Echterhoff et al., EMNLP 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas import losses
from regnas.updates.methods.chain import Chain, ChainStage, lessons
from regnas.updates.methods.tunable import tunable
from regnas.updates.models import Lesson, Model


@dataclass(frozen=True)
class GatedDistillation:
    """Gated distillation: the untreated new model trained further, to the old model if it is wrong, else to itself."""

    temperature: float = 1.0
    weight: float = tunable(1.0)
    label_weight: float = 0.0

    title: ClassVar[str] = "Gated distillation (MUSCLE)"
    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        losses.GatedDistillation("wrong", self.temperature)

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        wrong = losses.GatedDistillation("wrong", self.temperature)
        right = losses.GatedDistillation("right", self.temperature)

        def treat(stage: ChainStage, previous: Model, references: tuple[Model, ...]) -> Model:
            untreated = stage.train(previous)
            return stage.train(
                previous,
                start=untreated,
                label_weight=self.label_weight,
                lessons=(*lessons(wrong, self.weight, references), Lesson(right, self.weight, (untreated,))),
            )

        return chain.targeted(treat)
