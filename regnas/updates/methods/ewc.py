"""Elastic weight consolidation (EWC: Kirkpatrick et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain, fine_tune
from regnas.updates.methods.tunable import Grid, tunable
from regnas.updates.models import Consolidated, Model

STRENGTHS = Grid((0.01, 0.1, 1.0, 10.0), within=(1e-7, 1e4))  # the bounds are those of Schumann et al.


@dataclass(frozen=True)
class ElasticConsolidation:
    """EWC: fine-tuning that keeps the weights on which the old model's predictions depend.

    cross-entropy + strength / 2 * sum_i F_i (w_i - old_i)^2, with the Fisher information F on ``samples`` training
    samples scaled to mean 1, so the strength does not depend on how certain the old model is. The labels of F are the
    classes that the old model predicts. Tune the strength over many powers of ten, as Schumann et al. (2023) do.
    """

    strength: float = tunable(0.1, STRENGTHS)
    samples: int = 512

    title: ClassVar[str] = "EWC"
    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.strength < 0 or self.samples < 1:
            raise ValueError(
                f"strength must be 0 or above and samples at least 1, got {self.strength} and {self.samples}"
            )

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.following(
            lambda stage, previous: fine_tune(
                stage, previous, "ewc", tie=Consolidated(previous, self.strength, self.samples)
            )
        )
