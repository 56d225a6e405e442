"""An ensemble of different architectures (ELODI: Zhao et al., table 8)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from regnas.methods.chain import Chain, Stage
from regnas.models import Ensemble, Model, network_of
from regnas.networks import Network


@dataclass(frozen=True)
class HeterogeneousEnsemble:
    """Heterogeneous ensemble: each release's own network together with ``networks`` of other architectures."""

    networks: tuple[Network, ...] = field(default=())

    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.networks:
            raise ValueError('networks is empty: name at least one, such as [{ name = "small_resnet", blocks = 2 }]')

    @property
    def title(self) -> str:
        return f"Heterogeneous ensemble (m = {1 + len(self.networks)})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.untargeted(self._side)

    def _side(self, stage: Stage, previous: Model | None) -> Model:
        before = previous.members if isinstance(previous, Ensemble) else (previous,) * (1 + len(self.networks))
        members = [stage.train(before[0])]
        members += [  # one that has no predecessor of its own architecture starts fresh
            stage.train(older if network_of(older) == network else None, network=network)
            for older, network in zip(before[1:], self.networks, strict=True)
        ]
        return Ensemble(tuple(members))
