"""Bayesian update with a cost ratio as a training target (BU-CR in table 1 of ELODI: Zhao et al.)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas import losses
from regnas.updates.methods.chain import Chain, ChainStage, lessons
from regnas.updates.methods.tunable import tunable
from regnas.updates.models import Model


@dataclass(frozen=True)
class BayesianUpdateTrained:
    """BU-CR: the decision of the Bayesian update is a training target of the new model, which then runs alone.

    cross-entropy with the labels + weight * cross-entropy with the decision. ELODI compares with this form. The cost
    ratio of 2.5 comes from its authors' code. The default weight is ours.
    """

    cost_ratio: float = 2.5
    weight: float = tunable(1.0)

    title: ClassVar[str] = "BU-CR (trained)"
    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        losses.BayesianUpdate(self.cost_ratio)

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.targeted(self._treat)

    def _treat(self, stage: ChainStage, previous: Model, references: tuple[Model, ...]) -> Model:
        loss = losses.BayesianUpdate(self.cost_ratio)
        return stage.train(previous, lessons=lessons(loss, self.weight, references))
