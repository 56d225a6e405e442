"""ELODI where the old model was trained without it (Zhao et al., eq. 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas import losses
from regnas.methods.chain import Chain, Stage, lessons
from regnas.methods.tunable import SHARES, tunable
from regnas.models import Lesson, Model


@dataclass(frozen=True)
class ElodiLegacy:
    """ELODI with a legacy old model: LDI to the ensemble (share ``lambda_``) and to the old model (the rest)."""

    members: int = 8
    alpha: float = tunable(0.8, SHARES)
    lambda_: float = 0.5
    top_k: int = 10
    power: float = 2.0

    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.members < 1 or not 0 <= self.alpha <= 1 or not 0 <= self.lambda_ <= 1:
            raise ValueError("members must be at least 1, alpha and lambda_ between 0 and 1")
        losses.LogitDifferenceInhibition(self.power, self.top_k)

    @property
    def title(self) -> str:
        return f"ELODI, legacy old model (m = {self.members}, λ = {self.lambda_:g})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.targeted(self._treat)

    def _treat(self, stage: Stage, previous: Model, references: tuple[Model, ...]) -> Model:
        loss = losses.LogitDifferenceInhibition(self.power, self.top_k)
        ensemble = stage.repeats(previous, self.members)
        return stage.train(
            previous,
            label_weight=1 - self.alpha,
            lessons=(
                Lesson(loss, self.alpha * self.lambda_, ensemble),
                *lessons(loss, self.alpha * (1 - self.lambda_), references),
            ),
        )
