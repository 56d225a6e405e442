"""An ensemble of different architectures (ELODI: Zhao et al., table 8)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from regnas.networks import Network
from regnas.updates.methods.chain import Chain
from regnas.updates.methods.members import members_of
from regnas.updates.models import Ensemble, Model


@dataclass(frozen=True)
class HeterogeneousEnsemble:
    """Heterogeneous ensemble: each release's own network together with ``networks`` of other architectures."""

    networks: tuple[Network, ...] = field(default=())

    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.networks:
            raise ValueError(
                'networks must name at least one network, got none. Write [{ name = "small_resnet", blocks = 2 }].'
            )

    @property
    def title(self) -> str:
        return f"Heterogeneous ensemble (m = {1 + len(self.networks)})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        sides = members_of(chain, lambda stage: (stage.release.network, *self.networks))
        return tuple(stage.given or Ensemble(side) for stage, side in zip(chain.stages, sides, strict=True))
