"""Backward-compatible training of features (BCT: Shen et al., CVPR 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas import losses
from regnas.updates.methods.chain import Chain, feature_lessons
from regnas.updates.methods.tunable import tunable
from regnas.updates.models import Model


@dataclass(frozen=True)
class BackwardCompatible:
    """BCT: the new features must also work with the old model's classifier."""

    weight: float = tunable(1.0)

    title: ClassVar[str] = "BCT"
    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        loss = losses.BackwardCompatible()
        return chain.targeted(
            lambda stage, previous, references: stage.train(
                previous, feature_lessons=feature_lessons(loss, self.weight, references)
            )
        )
