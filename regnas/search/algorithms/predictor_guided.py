"""Evolution whose children are ranked before they are evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from regnas.search.algorithms.asking import Scored, unknown
from regnas.search.algorithms.evolution import Evolution
from regnas.search.algorithms.random_search import RandomSearch
from regnas.search.algorithms.surrogate import RewardSurrogate
from regnas.space import Architecture, Budget, BudgetSampler, SearchSpace

SIBLINGS = 10  # children drawn from the same offspring, whose counting costs more than a draw
FROM_ANYWHERE = 0.1  # of the pool


@dataclass(frozen=True)
class PredictorGuided:
    """Evolution with a predictor: a surrogate of the reward ranks a large pool, and only the best are evaluated.

    The surrogate is fitted on all candidates so far. The pool holds children as evolution makes them, and some
    networks from anywhere in the budget. ``explore`` of each generation are taken from it by chance, so that a
    surrogate which is wrong costs little. The first ``startup`` candidates are drawn at random.
    """

    population: int = 20
    pool: int = 1000
    startup: int = 20
    explore: float = 0.2

    def __post_init__(self) -> None:
        if self.population < 1:
            raise ValueError("population must be at least 1")
        if self.pool < self.population:
            raise ValueError(f"pool must be at least the population ({self.population})")
        if self.startup < 2:
            raise ValueError("startup must be at least 2")
        if not 0 <= self.explore <= 1:
            raise ValueError("explore must be at least 0 and at most 1")

    @property
    def generation_size(self) -> int:
        return self.population

    def ask(self, space: SearchSpace, budget: Budget, told: Sequence[Scored], random: Random) -> list[Architecture]:
        if len(told) < self.startup:
            return RandomSearch(self.population).ask(space, budget, told, random)
        known = {trial.architecture for trial in told}
        anywhere = BudgetSampler(space, budget)
        drawn = self._drawn(space, budget, told, anywhere, random)
        pool = [architecture for architecture in dict.fromkeys(drawn) if architecture not in known]
        chosen = self._chosen(pool, RewardSurrogate(space, told), random) if pool else []
        missing = self.population - len(chosen)
        return chosen + unknown(lambda misses: anywhere.sample(random), known.union(chosen), missing)

    def _drawn(
        self, space: SearchSpace, budget: Budget, told: Sequence[Scored], anywhere: BudgetSampler, random: Random
    ) -> Iterator[Architecture]:
        evolution = Evolution(self.population)
        best = evolution.best(told)
        strangers = round(FROM_ANYWHERE * self.pool)
        for _ in range(strangers):
            yield anywhere.sample(random)
        for first in range(strangers, self.pool, SIBLINGS):
            offspring = anywhere.within(evolution.offspring(space, best, random).space(space))
            for _ in range(min(SIBLINGS, self.pool - first)):
                yield offspring.sample(random)

    def _chosen(self, pool: list[Architecture], surrogate: RewardSurrogate, random: Random) -> list[Architecture]:
        explored = random.sample(pool, min(round(self.explore * self.population), len(pool)))
        promise = dict(zip(pool, surrogate.predict(pool), strict=True))
        ranked = sorted(set(pool).difference(explored), key=lambda child: (-promise[child], child.id))
        return ranked[: self.population - len(explored)] + explored
