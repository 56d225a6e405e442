"""The ensemble paragon (PCT: Yan et al., CVPR 2021, section 4.3), a goal for single models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain
from regnas.updates.methods.members import members_of, own_networks
from regnas.updates.models import Ensemble, Model


@dataclass(frozen=True)
class EnsembleParagon:
    """Ensemble paragon: mean logits of independently trained members, for the old and the new side."""

    members: int = 8

    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.members < 2:
            raise ValueError(f"members must be at least 2, got {self.members}. Use none for a single model.")

    @property
    def title(self) -> str:
        return f"Ensemble paragon (m = {self.members})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        sides = members_of(chain, own_networks(self.members))
        return tuple(stage.given or Ensemble(side) for stage, side in zip(chain.stages, sides, strict=True))
