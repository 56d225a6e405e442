"""The protocol of search algorithms, and their common functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import Protocol

from regnas.search.rewards import Measures
from regnas.space import Architecture, Budget, BudgetSampler, Gene, Projection, SearchSpace, gene_choices

# A generation gives up on new architectures after this many draws in a row that were all known.
MOST_KNOWN_IN_A_ROW = 200


class Scored(Protocol):
    """A candidate that was evaluated."""

    @property
    def architecture(self) -> Architecture: ...

    @property
    def macs(self) -> int: ...

    @property
    def measures(self) -> Measures: ...

    @property
    def reward(self) -> float: ...

    @property
    def excess(self) -> float | None:
        """The highest NFR minus the limit; None if flips are not limited."""
        ...

    @property
    def violation(self) -> float:
        """The excess, or 0 if the limit is met."""
        ...


class SearchAlgorithm(Protocol):
    """Chooses the next candidates from the evaluated ones alone, so that the same call has the same result."""

    @property
    def generation_size(self) -> int:
        """The number of candidates per generation."""
        ...

    def ask(self, space: SearchSpace, budget: Budget, told: Sequence[Scored], random: Random) -> list[Architecture]:
        """Return the next generation: architectures of the space inside the budget, none of which are in ``told``."""
        ...


def unknown(draw: Callable[[int], Architecture], known: Collection[Architecture], count: int) -> list[Architecture]:
    """Draw ``count`` unknown architectures, or fewer after too many misses; ``draw`` gets the number of misses."""
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


def unknown_near(
    suggest: Callable[[], Mapping[str, Gene]],
    space: SearchSpace,
    budget: Budget,
    known: Collection[Architecture],
    count: int,
    random: Random,
) -> list[Architecture]:
    """Return the architectures nearest to the suggestions; if one is known, its suggestion changes gene by gene."""
    projection, anywhere, choices = Projection(space, budget), BudgetSampler(space, budget), gene_choices(space)
    wanted: dict[str, Gene] = {}

    def draw(misses: int) -> Architecture:
        if misses >= MOST_KNOWN_IN_A_ROW // 2:
            return anywhere.sample(random)
        if misses == 0:
            wanted.update(suggest())
        else:
            name = random.choice(list(choices))
            wanted[name] = random.choice(choices[name])
        return projection.nearest(wanted, random)

    return unknown(draw, known, count)
