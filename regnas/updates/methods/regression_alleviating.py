"""Regression-alleviating compatible training (RACT: Zhang et al., ICLR 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas import losses
from regnas.updates.methods.chain import Chain, feature_lessons
from regnas.updates.methods.tunable import tunable
from regnas.updates.models import Model


@dataclass(frozen=True)
class RegressionAlleviating:
    """RACT: pulls new features to the old ones of the same sample, and away from features of other classes."""

    temperature: float = 0.05
    weight: float = tunable(1.0)

    title: ClassVar[str] = "RACT"
    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        losses.RegressionAlleviating(self.temperature)

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        loss = losses.RegressionAlleviating(self.temperature)
        return chain.targeted(
            lambda stage, previous, references: stage.train(
                previous, feature_lessons=feature_lessons(loss, self.weight, references)
            )
        )
