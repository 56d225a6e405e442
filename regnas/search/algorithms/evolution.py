"""Evolution inside a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from regnas.search.algorithms.asking import MOST_KNOWN_IN_A_ROW, Scored, unknown
from regnas.space import Architecture, Budget, BudgetSampler, SearchSpace


@dataclass(frozen=True)
class Evolution:
    """The best part of all candidates so far are parents; children are mutated from one or mixed from two.

    A child is drawn from the architectures inside the budget that differ from its parent only where it mutates, or
    that take every block from one of two parents, so that no child is ever rejected for its cost.
    """

    population: int = 20
    parents: float = 0.25
    mutated: float = 0.5
    mutation_probability: float = 0.2

    def __post_init__(self) -> None:
        if self.population < 1:
            raise ValueError("population must be at least 1")
        for name in ("parents", "mutated", "mutation_probability"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1")

    @property
    def generation_size(self) -> int:
        return self.population

    def ask(self, space: SearchSpace, budget: Budget, told: Sequence[Scored], random: Random) -> list[Architecture]:
        best = self.best(told)
        anywhere = BudgetSampler(space, budget)
        families: dict[object, BudgetSampler] = {}  # the same parents come together again and again

        def draw(misses: int) -> Architecture:
            # The neighbourhood of the best may be exhausted: from half of the patience on, look anywhere.
            if not best or misses >= MOST_KNOWN_IN_A_ROW // 2:
                return anywhere.sample(random)
            offspring = self.offspring(space, best, random)
            key = (offspring.stages, offspring.resolutions)
            if key not in families:
                families[key] = anywhere.within(offspring)
            return families[key].sample(random)

        return unknown(draw, {trial.architecture for trial in told}, self.population)

    @property
    def parent_count(self) -> int:
        return max(2, round(self.parents * self.population))

    def best(self, told: Sequence[Scored]) -> list[Architecture]:
        """The parents."""
        ranked = sorted(told, key=lambda trial: (-trial.reward, trial.architecture.id))
        return [trial.architecture for trial in ranked[: self.parent_count]]

    def offspring(self, space: SearchSpace, best: Sequence[Architecture], random: Random) -> SearchSpace:
        """All children that two parents can have, or one parent that mutates at places which chance picks."""
        if len(best) > 1 and random.random() >= self.mutated:
            mother, father = random.sample(best, 2)
            return space.mixing(mother, father)
        return self._mutants(space, random.choice(best), random)

    def mixed(
        self, space: SearchSpace, budget: Budget, mother: Architecture, father: Architecture, random: Random
    ) -> Architecture:
        return BudgetSampler(space.mixing(mother, father), budget).sample(random)

    def mutant(self, space: SearchSpace, budget: Budget, parent: Architecture, random: Random) -> Architecture:
        return BudgetSampler(self._mutants(space, parent, random), budget).sample(random)

    def _mutants(self, space: SearchSpace, parent: Architecture, random: Random) -> SearchSpace:
        blocks = [(stage, position) for stage, position, _ in parent.blocks()]
        free_blocks = [place for place in blocks if random.random() < self.mutation_probability]
        free_depths = [stage for stage in range(len(space.stages)) if random.random() < self.mutation_probability]
        free_resolution = len(space.resolutions) > 1 and random.random() < self.mutation_probability
        if not free_blocks and not free_depths:
            free_blocks = [random.choice(blocks)]
        return space.around(parent, free_blocks, free_depths, free_resolution)
