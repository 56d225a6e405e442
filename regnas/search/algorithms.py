"""Algorithms that say which architectures to evaluate next, a generation at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from regnas.registry import Registry
from regnas.space import Architecture, Budget, BudgetSampler, SearchSpace

# A generation gives up on new architectures after this many draws in a row that were all known.
MOST_KNOWN_IN_A_ROW = 200


class Scored(Protocol):
    @property
    def architecture(self) -> Architecture: ...

    @property
    def reward(self) -> float: ...


class SearchAlgorithm(Protocol):
    """Says what to evaluate next, from nothing but what was evaluated: ask again and it says the same."""

    @property
    def generation_size(self) -> int: ...

    def ask(self, space: SearchSpace, budget: Budget, told: Sequence[Scored], random: Random) -> list[Architecture]:
        """The next generation: architectures of the space inside the budget, none of them told before."""
        ...


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
        ranked = sorted(told, key=lambda trial: (-trial.reward, trial.architecture.id))
        best = [trial.architecture for trial in ranked[: max(2, round(self.parents * self.population))]]
        anywhere = BudgetSampler(space, budget)

        def draw(misses: int) -> Architecture:
            # The neighbourhood of the best may be exhausted: from half of the patience on, look anywhere.
            if best and misses < MOST_KNOWN_IN_A_ROW // 2:
                return self._child(space, budget, best, random)
            return anywhere.sample(random)

        return _unknown(draw, {trial.architecture for trial in told}, self.population)

    def _child(
        self, space: SearchSpace, budget: Budget, best: Sequence[Architecture], random: Random
    ) -> Architecture:
        if len(best) > 1 and random.random() >= self.mutated:
            mother, father = random.sample(best, 2)
            return BudgetSampler(space.mixing(mother, father), budget).sample(random)
        parent = random.choice(best)
        blocks = [(stage, position) for stage, position, _ in parent.blocks()]
        free_blocks = [place for place in blocks if random.random() < self.mutation_probability]
        free_depths = [stage for stage in range(len(space.stages)) if random.random() < self.mutation_probability]
        if not free_blocks and not free_depths:
            free_blocks = [random.choice(blocks)]
        return BudgetSampler(space.around(parent, free_blocks, free_depths), budget).sample(random)


@dataclass(frozen=True)
class RandomSearch:
    """Architectures drawn from the budget, each equally likely: what an algorithm has to beat."""

    generation: int = 20

    @property
    def generation_size(self) -> int:
        return self.generation

    def ask(self, space: SearchSpace, budget: Budget, told: Sequence[Scored], random: Random) -> list[Architecture]:
        sampler = BudgetSampler(space, budget)
        known = {trial.architecture for trial in told}
        return _unknown(lambda misses: sampler.sample(random), known, self.generation)


def _unknown(draw: Callable[[int], Architecture], known: set[Architecture], count: int) -> list[Architecture]:
    """``count`` architectures that are not known yet, or fewer where the patience ends; ``draw`` is told the misses."""
    found: dict[Architecture, None] = {}
    misses = 0
    while len(found) < count and misses < MOST_KNOWN_IN_A_ROW:
        candidate = draw(misses)
        if candidate in known or candidate in found:
            misses += 1
        else:
            found[candidate] = None
            misses = 0
    return list(found)


ALGORITHMS: Registry[SearchAlgorithm] = Registry("algorithm", {"evolution": Evolution, "random": RandomSearch})
