"""More weight for samples that the old model predicts correctly (PCT: Yan et al., CVPR 2021, eq. 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas import losses
from regnas.updates.methods.chain import Chain, lessons
from regnas.updates.methods.tunable import tunable
from regnas.updates.models import Model


@dataclass(frozen=True)
class Naive:
    """Naive: cross-entropy, counted twice on samples that the old model predicts correctly."""

    weight: float = tunable(1.0)

    title: ClassVar[str] = "Naive"
    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        loss = losses.Naive()
        return chain.targeted(
            lambda stage, previous, references: stage.train(previous, lessons=lessons(loss, self.weight, references))
        )
