"""No treatment: the new model trained as if there were no old one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain
from regnas.updates.models import Model


@dataclass(frozen=True)
class NoTreatment:
    """No treatment: every release is trained on its own."""

    title: ClassVar[str] = "No treatment"
    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = False

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.untargeted(lambda stage, previous: stage.plain(previous))
