"""Weight decay to the old weights (a baseline of Schumann et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain, fine_tune
from regnas.updates.methods.tunable import Grid, tunable
from regnas.updates.models import DecoupledDecay, Model

STRENGTHS = Grid((0.01, 0.1, 1.0, 10.0), within=(1e-4, 1e5))


@dataclass(frozen=True)
class PriorWeightDecay:
    """Prior weight decay: fine-tuning whose weight decay pulls to the old weights instead of to zero.

    After every step, w <- old + (w - old) * exp(-learning rate * strength): decoupled from the loss, its gradient and
    the clipping. A decay inside the gradient, such as ``weight_decay`` of a recipe, also goes through the momentum. At
    the same value it is therefore 1 / (1 - momentum) times as strong.
    """

    strength: float = tunable(1.0, STRENGTHS)

    title: ClassVar[str] = "Prior WD"
    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.strength < 0:
            raise ValueError(f"strength must be 0 or above, got {self.strength}")

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.following(
            lambda stage, previous: fine_tune(
                stage, previous, "prior_weight_decay", tie=DecoupledDecay(previous, self.strength)
            )
        )
