"""Bayesian update with a cost ratio (BU-CR: Träuble et al., NeurIPS 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from regnas import losses
from regnas.methods.chain import Chain, Stage, lessons
from regnas.methods.tunable import tunable
from regnas.models import BayesianUpdated, Model


@dataclass(frozen=True)
class BayesianUpdate:
    """BU-CR: the old answer stands unless the posterior is ``cost_ratio`` times surer of another.

    ``at = "inference"`` is the paper's: both models run, and the posterior comes from their confusion matrices on the
    search split. ``at = "training"`` is how ELODI compares with it: the decision is the target of the new model.
    """

    cost_ratio: float = 2.0
    at: Literal["inference", "training"] = "inference"
    weight: float = tunable(1.0)

    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        losses.BayesianUpdate(self.cost_ratio)

    @property
    def title(self) -> str:
        return "BU-CR" if self.at == "inference" else "BU-CR (at training)"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        loss = losses.BayesianUpdate(self.cost_ratio)

        def treat(stage: Stage, previous: Model, references: tuple[Model, ...]) -> Model:
            if self.at == "training":
                return stage.train(previous, lessons=lessons(loss, self.weight, references))
            return BayesianUpdated(references[-1], stage.train(previous), self.cost_ratio)

        return chain.targeted(treat)
