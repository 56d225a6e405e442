"""BCWI with a soup of fine-tuned models (SoupBCWI: Schumann et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain, ChainStage, fine_tune
from regnas.updates.methods.tunable import SHARES, tunable
from regnas.updates.models import Interpolated, Model, Soup


@dataclass(frozen=True)
class SoupInterpolation:
    """Soup BCWI: the old weights and the mean of m models fine-tuned from them."""

    alpha: float = tunable(0.4, SHARES)
    members: int = 4

    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1 or self.members < 2:
            raise ValueError(
                f"alpha must be between 0 and 1 and members at least 2, got {self.alpha} and {self.members}"
            )

    @property
    def title(self) -> str:
        return f"Soup BCWI (m = {self.members}, α = {self.alpha:g})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.following(self._treat)

    def _treat(self, stage: ChainStage, previous: Model) -> Model:
        soup = Soup(tuple(fine_tune(stage, previous, "bcwi_soup", repeat) for repeat in range(self.members)))
        return Interpolated(previous, soup, self.alpha)
