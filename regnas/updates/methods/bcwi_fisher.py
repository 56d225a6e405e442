"""BCWI with the old weights counted by their Fisher information (FisherBCWI: Schumann et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain, ChainStage, fine_tune
from regnas.updates.methods.tunable import SHARES, tunable
from regnas.updates.models import FisherInterpolated, Model


@dataclass(frozen=True)
class FisherInterpolation:
    """Fisher BCWI: interpolation in which an old weight counts more if the old model depends more on it.

    (alpha F w_old + (1 - alpha) w_new) / (alpha F + 1 - alpha), with the Fisher information F of the old model on
    ``samples`` training samples, scaled to mean 1. Most weights have an F below 1, so the same alpha moves less toward
    the old weights than in plain BCWI. Schumann et al. try values up to 0.98.
    """

    alpha: float = tunable(0.5, SHARES)
    samples: int = 512

    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1 or self.samples < 1:
            raise ValueError(
                f"alpha must be between 0 and 1 and samples at least 1, got {self.alpha} and {self.samples}"
            )

    @property
    def title(self) -> str:
        return f"Fisher BCWI (α = {self.alpha:g})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.following(self._treat)

    def _treat(self, stage: ChainStage, previous: Model) -> Model:
        return FisherInterpolated(previous, fine_tune(stage, previous, "bcwi_fisher"), self.alpha, self.samples)
