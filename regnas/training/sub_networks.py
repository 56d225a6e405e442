"""Choose the sub-networks of a supernet that a step trains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Literal, Protocol

from regnas.components.registry import Registry
from regnas.space import Architecture, EvenSampler, SearchSpace

LossOf = Callable[[Architecture], float]


class SubNetworks(Protocol):
    """``draw`` returns sub-networks from the largest to the smallest, the same for the same ``random`` and losses."""

    def draw(self, space: SearchSpace, even: EvenSampler, random: Random, loss_of: LossOf) -> list[Architecture]: ...

    @property
    def tried(self) -> int:
        """The number of sub-networks that a step runs without training them, to choose among them."""
        ...


@dataclass(frozen=True)
class Sandwich:
    """The sandwich rule (Yu and Huang, 2019): the largest sub-network, the smallest, and ``random`` others."""

    random: int = 2

    tried = 0

    def __post_init__(self) -> None:
        if self.random < 0:
            raise ValueError(f"random must be at least 0, got {self.random}")

    def draw(self, space: SearchSpace, even: EvenSampler, random: Random, loss_of: LossOf) -> list[Architecture]:
        between = [even.sample(random) for _ in range(self.random)]
        return [space.largest, *_falling(space, between), space.smallest]


@dataclass(frozen=True)
class Nested:
    """Chains: every sub-network of a step contains the next smaller one, like the members of a family.

    With ``ends``, the chain includes the largest and the smallest sub-network of the space.
    """

    random: int = 2
    ends: bool = True

    tried = 0

    def __post_init__(self) -> None:
        if self.random < 0 or self.random + 2 * self.ends < 2:
            raise ValueError(f"random must give a chain of at least two networks, got {self.random}")

    def draw(self, space: SearchSpace, even: EvenSampler, random: Random, loss_of: LossOf) -> list[Architecture]:
        chain: list[Architecture] = []
        for _ in range(self.random):
            # The next one goes above, below or between the current ones, wherever it fits.
            place = random.randint(0, len(chain))
            here = space
            if place:
                here = here.below(chain[place - 1])
            if place < len(chain):
                here = here.above(chain[place])
            chain.insert(place, (EvenSampler(here) if chain else even).sample(random))
        return [space.largest, *chain, space.smallest] if self.ends else chain


@dataclass(frozen=True)
class Attentive:
    """AttentiveNAS (Wang et al., CVPR 2021): a sandwich with the worst, or the best, sub-networks of a ``pool``.

    Each of the ``random`` sub-networks has the highest (``worst``) or lowest (``best``) loss on the labels of the batch
    among ``pool`` drawn ones. Training thus focuses on those that lag behind, or on those that will be chosen.
    """

    random: int = 2
    pool: int = 3
    attend: Literal["worst", "best"] = "worst"

    def __post_init__(self) -> None:
        if self.random < 1 or self.pool < 2:
            raise ValueError("random must be at least 1 and pool at least 2")

    @property
    def tried(self) -> int:
        return self.random * self.pool

    def draw(self, space: SearchSpace, even: EvenSampler, random: Random, loss_of: LossOf) -> list[Architecture]:
        choose = max if self.attend == "worst" else min
        pools = [[even.sample(random) for _ in range(self.pool)] for _ in range(self.random)]
        return [space.largest, *_falling(space, [choose(pool, key=loss_of) for pool in pools]), space.smallest]


@dataclass(frozen=True)
class Given:
    """The same sub-networks in every step, from the largest to the smallest: the members of a family."""

    architectures: tuple[Architecture, ...]

    tried = 0

    def draw(self, space: SearchSpace, even: EvenSampler, random: Random, loss_of: LossOf) -> list[Architecture]:
        return list(self.architectures)


SUB_NETWORKS: Registry[type[SubNetworks]] = Registry(
    "sub-networks",
    "regnas.sub_networks",
    {"sandwich": Sandwich, "nested": Nested, "attentive": Attentive},
)


def _falling(space: SearchSpace, architectures: list[Architecture]) -> list[Architecture]:
    return sorted(architectures, key=lambda architecture: space.cost(architecture).macs, reverse=True)
