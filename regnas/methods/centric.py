"""The most central of several trained models (Xie et al., ACL 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.methods.chain import Chain
from regnas.models import Centric, Model


@dataclass(frozen=True)
class CentricMember:
    """Centric member: of m new models the one nearest to their ensemble, chosen on the search split."""

    members: int = 8

    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.members < 2:
            raise ValueError(f"members is {self.members}: there is nothing to choose from below 2")

    @property
    def title(self) -> str:
        return f"Centric member (m = {self.members})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        models: list[Model] = [chain.stages[0].plain(None)]
        for stage in chain.stages[1:]:
            models.append(stage.given or Centric(stage.repeats(models[-1], self.members)))
        return tuple(models)
