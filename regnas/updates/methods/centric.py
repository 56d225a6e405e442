"""The most central of several trained models (Xie et al., ACL 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain
from regnas.updates.methods.members import members_of, own_networks
from regnas.updates.models import Centric, Model


@dataclass(frozen=True)
class CentricMember:
    """Centric member: of m new models, the one nearest to their ensemble, chosen on the search split."""

    members: int = 8

    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.members < 2:
            raise ValueError(f"members must be at least 2, got {self.members}. One of them is chosen.")

    @property
    def title(self) -> str:
        return f"Centric member (m = {self.members})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        first = chain.stages[0].plain(None)
        sides = members_of(chain, own_networks(self.members), first)
        later = zip(chain.stages[1:], sides[1:], strict=True)
        return first, *(stage.given or Centric(side) for stage, side in later)
