"""Backward-compatible weight interpolation (BCWI: Schumann et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain, ChainStage, fine_tune
from regnas.updates.methods.tunable import SHARES, tunable
from regnas.updates.models import Interpolated, Model


@dataclass(frozen=True)
class WeightInterpolation:
    """BCWI: alpha * old weights + (1 - alpha) * weights fine-tuned from them; alpha costs no training.

    Every point of the line is calibrated on the images of the new release, including its ends. At alpha = 1, a network
    with batch norms therefore has the old weights with new statistics. It may predict differently from the old model,
    especially from a checkpoint that has statistics of its own.
    """

    alpha: float = tunable(0.4, SHARES)

    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha must be between 0 and 1, got {self.alpha}")

    @property
    def title(self) -> str:
        return f"BCWI (α = {self.alpha:g})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.following(self._treat)

    def _treat(self, stage: ChainStage, previous: Model) -> Model:
        return Interpolated(previous, fine_tune(stage, previous, "bcwi"), self.alpha)
