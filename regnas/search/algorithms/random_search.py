"""Random search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from regnas.search.algorithms.asking import Scored, unknown
from regnas.space import Architecture, Budget, BudgetSampler, SearchSpace


@dataclass(frozen=True)
class RandomSearch:
    """Architectures drawn from the budget, each equally likely: the baseline of search algorithms."""

    generation: int = 20

    def __post_init__(self) -> None:
        if self.generation < 1:
            raise ValueError("generation must be at least 1")

    @property
    def generation_size(self) -> int:
        return self.generation

    def ask(self, space: SearchSpace, budget: Budget, told: Sequence[Scored], random: Random) -> list[Architecture]:
        sampler = BudgetSampler(space, budget)
        known = {trial.architecture for trial in told}
        return unknown(lambda misses: sampler.sample(random), known, self.generation)
