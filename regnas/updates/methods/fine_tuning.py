"""Plain fine-tuning, the counterpart of methods that start from the old weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain, fine_tune
from regnas.updates.models import Model


@dataclass(frozen=True)
class FineTuning:
    """Fine-tuning: every release is trained from the weights of the one before it, without treatment."""

    title: ClassVar[str] = "Fine-tuning"
    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = True

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.following(lambda stage, previous: fine_tune(stage, previous, "fine_tuning"))
