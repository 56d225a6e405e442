"""Random search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from regnas.search.algorithms.asking import Scored, unknown
from regnas.space import Architecture, Budget, BudgetSampler, SearchSpace


@dataclass(frozen=True)
class RandomSearch:
    """Random search: draws architectures from the budget, each equally likely; the baseline of search algorithms."""

    generation: int = 20

    def __post_init__(self) -> None:
        if self.generation < 1:
            raise ValueError(f"generation must be at least 1, got {self.generation}")

    @property
    def generation_size(self) -> int:
        return self.generation

    def ask(self, space: SearchSpace, budget: Budget, told: Sequence[Scored], random: Random) -> list[Architecture]:
        """Return random architectures inside the budget."""
        sampler = BudgetSampler(space, budget)
        known = {trial.architecture for trial in told}
        return unknown(lambda misses: sampler.sample(random), known, self.generation)
