"""Mixout (Lee, Cho and Kang, ICLR 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain, fine_tune
from regnas.updates.methods.tunable import SHARES, tunable
from regnas.updates.models import MixedWeights, Model


@dataclass(frozen=True)
class Mixout:
    """Mixout: fine-tuning that randomly resets weights to the old ones in each step, including biases and norms."""

    probability: float = tunable(0.7, SHARES)

    title: ClassVar[str] = "Mixout"
    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.probability < 1:
            raise ValueError(f"probability must be above 0 and below 1, got {self.probability}")

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.following(
            lambda stage, previous: fine_tune(stage, previous, "mixout", tie=MixedWeights(previous, self.probability))
        )
