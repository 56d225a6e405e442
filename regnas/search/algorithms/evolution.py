"""Evolution inside a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from regnas.search.algorithms.asking import MOST_KNOWN_IN_A_ROW, Scored, unknown
from regnas.search.feasibility import standing
from regnas.space import Architecture, Budget, BudgetSampler, SearchSpace


@dataclass(frozen=True)
class Mixed:
    """All children in which every block comes from one of two parents."""

    mother: Architecture
    father: Architecture

    def space(self, space: SearchSpace) -> SearchSpace:
        """Return these children as a part of the space."""
        return space.mixing(self.mother, self.father)


@dataclass(frozen=True)
class Mutated:
    """All children of one parent that differ from it only at these places."""

    parent: Architecture
    blocks: tuple[tuple[int, int], ...]
    depths: tuple[int, ...]
    resolution: bool

    def space(self, space: SearchSpace) -> SearchSpace:
        """Return these children as a part of the space."""
        return space.around(self.parent, self.blocks, self.depths, self.resolution)


Offspring = Mixed | Mutated


@dataclass(frozen=True)
class Evolution:
    """Evolution: the best candidates so far are parents; a child mutates one parent or mixes two.

    A child is drawn from the architectures inside the budget that differ from its parent only at the mutated places, or
    in which every block comes from one of two parents. No child is therefore rejected for its cost. The resolution
    mutates with ``resolution_probability`` (by default ``mutation_probability``). Once-for-all uses 0.1 and 0.5.
    """

    population: int = 20
    parents: float = 0.25
    mutated: float = 0.5
    mutation_probability: float = 0.2
    resolution_probability: float | None = None

    def __post_init__(self) -> None:
        if self.population < 1:
            raise ValueError(f"population must be at least 1, got {self.population}")
        for name in ("parents", "mutated", "mutation_probability"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, got {getattr(self, name)}")
        if self.resolution_probability is not None and not 0 <= self.resolution_probability <= 1:
            raise ValueError(f"resolution_probability must be between 0 and 1, got {self.resolution_probability}")

    @property
    def generation_size(self) -> int:
        return self.population

    def ask(self, space: SearchSpace, budget: Budget, told: Sequence[Scored], random: Random) -> list[Architecture]:
        """Return children of the best candidates, or random architectures in the first generation."""
        best = self.best(told)
        anywhere = BudgetSampler(space, budget)
        families: dict[Offspring, BudgetSampler] = {}  # the same parents are drawn again and again

        def draw(misses: int) -> Architecture:
            # The neighborhood of the best may be exhausted: after half of the allowed misses, draw from anywhere.
            if not best or misses >= MOST_KNOWN_IN_A_ROW // 2:
                return anywhere.sample(random)
            offspring = self.offspring(space, best, random, misses)
            if offspring not in families:
                families[offspring] = anywhere.within(offspring.space(space))
            return families[offspring].sample(random)

        return unknown(draw, {trial.architecture for trial in told}, self.population)

    @property
    def parent_count(self) -> int:
        return max(2, round(self.parents * self.population))

    def best(self, told: Sequence[Scored]) -> list[Architecture]:
        """Return the parents: the best candidates by constraint domination."""
        ranked = sorted(told, key=lambda trial: (*standing(trial), trial.architecture.id))
        return [trial.architecture for trial in ranked[: self.parent_count]]

    def offspring(self, space: SearchSpace, best: Sequence[Architecture], random: Random, misses: int = 0) -> Offspring:
        """Draw two parents that mix, or one that mutates at random places.

        After ``misses`` children that were all known, a parent mutates at as many more places.
        """
        if not misses and len(best) > 1 and random.random() >= self.mutated:
            mother, father = random.sample(best, 2)
            return Mixed(mother, father)
        return self.mutated_at(space, random.choice(best), random, misses)

    def mutated_at(self, space: SearchSpace, parent: Architecture, random: Random, more: int = 0) -> Mutated:
        """Draw the places at which a parent mutates: each with the mutation probability, and ``more`` in any case."""
        blocks = [(stage, position) for stage, position, _ in parent.blocks()]
        by_force = set(random.sample(blocks, min(more, len(blocks))))
        free_blocks = [place for place in blocks if random.random() < self.mutation_probability or place in by_force]
        free_depths = [stage for stage in range(len(space.stages)) if random.random() < self.mutation_probability]
        resolution = self.mutation_probability if self.resolution_probability is None else self.resolution_probability
        free_resolution = len(space.resolutions) > 1 and random.random() < resolution
        if not free_blocks and not free_depths:
            free_blocks = [random.choice(blocks)]
        return Mutated(parent, tuple(free_blocks), tuple(free_depths), free_resolution)
