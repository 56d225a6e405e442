"""Dropout, a weak ensemble in one network (Srivastava et al., 2014; table 1 of ELODI)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain
from regnas.updates.methods.tunable import SHARES, tunable
from regnas.updates.models import Model


@dataclass(frozen=True)
class Dropout:
    """Dropout: before the classifier, in the old and the new model."""

    probability: float = tunable(0.2, SHARES)

    title: ClassVar[str] = "Dropout"
    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.probability < 1:
            raise ValueError(f"probability must be above 0 and below 1, got {self.probability}")

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.untargeted(lambda stage, previous: stage.train(previous, dropout=self.probability))
