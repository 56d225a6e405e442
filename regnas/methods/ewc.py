"""Elastic weight consolidation (EWC: Kirkpatrick et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.methods.chain import Chain, fine_tuned
from regnas.models import Consolidated, Model


@dataclass(frozen=True)
class ElasticConsolidation:
    """EWC: fine-tuning that holds on to the weights on which the old model's answers depend."""

    strength: float = 10.0
    samples: int = 512

    title: ClassVar[str] = "EWC"
    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.strength < 0 or self.samples < 1:
            raise ValueError("strength must not be negative and samples at least 1")

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.following(
            lambda stage, previous: fine_tuned(
                stage, previous, "ewc", tie=Consolidated(previous, self.strength, self.samples)
            )
        )
