"""Ensemble logit difference inhibition (ELODI: Zhao et al.)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from regnas import losses
from regnas.methods.chain import Chain, Stage
from regnas.methods.tunable import SHARES, tunable
from regnas.models import Lesson, Model


@dataclass(frozen=True)
class Elodi:
    """ELODI: the old and the new model are each distilled from an ensemble of m networks of their own architecture.

    (1 - alpha) * cross-entropy + alpha * LDI over the ``top_k`` highest classes with exponent ``power``; the teacher
    sees the student's own batch (``online``) or each training sample once, without augmentation (``offline``).
    """

    members: int = 8
    alpha: float = tunable(0.8, SHARES)
    top_k: int = 10
    power: float = 2.0
    teacher: Literal["online", "offline"] = "online"

    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.members < 1 or not 0 <= self.alpha <= 1:
            raise ValueError("members must be at least 1 and alpha between 0 and 1")
        losses.LogitDifferenceInhibition(self.power, self.top_k)

    @property
    def title(self) -> str:
        teacher = ", offline" if self.teacher == "offline" else ""
        return f"ELODI (m = {self.members}, K = {self.top_k}{teacher})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.untargeted(self._treat)

    def _treat(self, stage: Stage, previous: Model | None) -> Model:
        ensemble = stage.repeats(previous, self.members)
        loss = losses.LogitDifferenceInhibition(self.power, self.top_k)
        lesson = Lesson(loss, self.alpha, ensemble, online=self.teacher == "online")
        return stage.train(previous, label_weight=1 - self.alpha, lessons=(lesson,))
