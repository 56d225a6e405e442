"""Bayesian update with a cost ratio (BU-CR: Träuble et al., NeurIPS 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas import losses
from regnas.updates.methods.chain import Chain, ChainStage
from regnas.updates.models import BayesianUpdated, Model


@dataclass(frozen=True)
class BayesianUpdate:
    """BU-CR: at inference, the old prediction stands unless another class is ``cost_ratio`` times as probable.

    Both models run, and the posterior comes from their confusion matrices on the search split. The cost ratio is the
    number of positive flips that outweigh one negative flip. Choose it for your application; the default of 2 is ours.
    """

    cost_ratio: float = 2.0

    title: ClassVar[str] = "BU-CR (inference)"
    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        losses.BayesianUpdate(self.cost_ratio)

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.targeted(self._treat)

    def _treat(self, stage: ChainStage, previous: Model, references: tuple[Model, ...]) -> Model:
        return BayesianUpdated(references[-1], stage.train(previous), self.cost_ratio)
