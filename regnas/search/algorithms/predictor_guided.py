"""Evolution whose children are ranked before they are evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from regnas.search.algorithms.asking import Scored, unknown
from regnas.search.algorithms.evolution import Evolution
from regnas.search.algorithms.random_search import RandomSearch
from regnas.search.algorithms.surrogate import RewardSurrogate
from regnas.search.feasibility import Standing
from regnas.space import Architecture, Budget, BudgetSampler, SearchSpace

SIBLINGS = 10  # children drawn from the same offspring, because counting them costs more than a draw
FROM_ANYWHERE = 0.1  # of the first pool


@dataclass(frozen=True)
class PredictorGuided:
    """Evolution with a predictor: a surrogate of the reward ranks many children, and only the best are evaluated.

    The surrogate is fitted to all candidates so far. The first pool has children of the best of them, and some networks
    from anywhere in the budget. Each later generation has ``pool`` children of the networks that the surrogate ranks
    highest. So ``generations`` * ``pool`` networks are ranked per ``population`` that is evaluated. A share ``explore``
    of the population is random, so that a wrong surrogate costs little. The first ``startup`` candidates are random.
    ``parents``, ``mutated`` and the two probabilities are those of evolution. If flips are limited, a second surrogate
    predicts the excess over the limit.

    Once-for-all ranks 500 generations of 100 with a quarter as parents, half of the children mutated, and the
    probabilities 0.1 and, for the resolution, 0.5.
    """

    population: int = 20
    pool: int = 1000
    startup: int = 20
    explore: float = 0.2
    generations: int = 1
    parents: float = 0.25
    mutated: float = 0.5
    mutation_probability: float = 0.2
    resolution_probability: float | None = None

    def __post_init__(self) -> None:
        if self.population < 1:
            raise ValueError(f"population must be at least 1, got {self.population}")
        if self.pool < self.population:
            raise ValueError(f"pool must be at least the population, {self.population}, got {self.pool}")
        if self.startup < 2:
            raise ValueError(f"startup must be at least 2, got {self.startup}")
        if not 0 <= self.explore <= 1:
            raise ValueError(f"explore must be between 0 and 1, got {self.explore}")
        if self.generations < 1:
            raise ValueError(f"generations must be at least 1, got {self.generations}")
        _ = self._evolution  # checks its own fields

    @property
    def generation_size(self) -> int:
        return self.population

    @property
    def _evolution(self) -> Evolution:
        return Evolution(
            self.population, self.parents, self.mutated, self.mutation_probability, self.resolution_probability
        )

    def ask(self, space: SearchSpace, budget: Budget, told: Sequence[Scored], random: Random) -> list[Architecture]:
        """Return the children that the surrogate ranks highest, and random ones; random candidates at the start."""
        if len(told) < self.startup:
            return RandomSearch(self.population).ask(space, budget, told, random)
        known = {trial.architecture for trial in told}
        anywhere = BudgetSampler(space, budget)
        ranked = self._rank(space, anywhere, told, random)
        promise = {architecture: own for architecture, own in ranked.items() if architecture not in known}
        chosen = self._choose(promise, random) if promise else []
        missing = self.population - len(chosen)
        return chosen + unknown(lambda misses: anywhere.sample(random), known.union(chosen), missing)

    def _rank(
        self, space: SearchSpace, anywhere: BudgetSampler, told: Sequence[Scored], random: Random
    ) -> dict[Architecture, Standing]:
        """Return the predictions of the surrogate for the best so far and for all children of all generations."""
        surrogate = RewardSurrogate(space, told)
        parents = self._evolution.best(told)
        ranked = dict(zip(parents, surrogate.standings(parents), strict=True))
        for generation in range(self.generations):
            strangers = 0 if generation else round(FROM_ANYWHERE * self.pool)
            drawn = self._draw(space, anywhere, parents, strangers, random)
            children = [child for child in dict.fromkeys(drawn) if child not in ranked]
            if children:
                ranked |= zip(children, surrogate.standings(children), strict=True)
            together = sorted([*parents, *children], key=lambda architecture: (*ranked[architecture], architecture.id))
            parents = together[: max(2, round(self.parents * self.pool))]
        return ranked

    def _draw(
        self,
        space: SearchSpace,
        anywhere: BudgetSampler,
        parents: Sequence[Architecture],
        strangers: int,
        random: Random,
    ) -> Iterator[Architecture]:
        for _ in range(strangers):
            yield anywhere.sample(random)
        for first in range(strangers, self.pool, SIBLINGS):
            offspring = anywhere.within(self._evolution.offspring(space, parents, random).space(space))
            for _ in range(min(SIBLINGS, self.pool - first)):
                yield offspring.sample(random)

    def _choose(self, promise: dict[Architecture, Standing], random: Random) -> list[Architecture]:
        pool = list(promise)
        explored = random.sample(pool, min(round(self.explore * self.population), len(pool)))
        ranked = sorted(set(pool).difference(explored), key=lambda child: (*promise[child], child.id))
        return ranked[: self.population - len(explored)] + explored
