"""Weight decay to the old weights (a baseline of Schumann et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.methods.chain import Chain, fine_tuned
from regnas.models import DecayedToOld, Model


@dataclass(frozen=True)
class PriorWeightDecay:
    """Prior weight decay: fine-tuning whose weight decay pulls to the old weights instead of to zero."""

    strength: float = 0.01

    title: ClassVar[str] = "Prior WD"
    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.strength < 0:
            raise ValueError(f"strength is {self.strength}: it must not be negative")

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.following(
            lambda stage, previous: fine_tuned(
                stage, previous, "prior_weight_decay", tie=DecayedToOld(previous, self.strength)
            )
        )
