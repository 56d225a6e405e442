"""Draw architectures inside a budget, directly.

A dynamic program over the blocks counts, for every node and every remaining cost, the completions of a network, with
costs in bins. A draw then walks forward and takes each edge in proportion to its number of completions inside the
window: every architecture of the window is equally likely, and none is rejected. If costs had to be rounded to fit into
the bins, the few draws outside the window are drawn again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, pairwise
from operator import sub
from random import Random

import numpy as np
from numpy.typing import NDArray

from regnas.errors import BudgetInfeasible
from regnas.space.architecture import Architecture, Block
from regnas.space.binned import BinnedGraph, Bins, infeasible
from regnas.space.budget import Budget, Cost
from regnas.space.graph import Edge, Node
from regnas.space.space import SearchSpace

MOST_BINS = 1 << 15
MOST_REDRAWS = 10_000
SMALLEST_SHARE = 1e-6
OFTEN = 16  # after this many sums over parts of a table, its running sums pay off


class CostCounts:
    """The number of completions of a network from every node, by cost, inside ``ceiling``.

    One table serves every window of multiply-adds inside that of the ceiling.
    """

    def __init__(self, space: SearchSpace, ceiling: Budget, graph: BinnedGraph | None = None) -> None:
        self.space = space
        self.ceiling = ceiling
        self._graph = graph or BinnedGraph(space, ceiling, MOST_BINS)
        self._ways = self._count_ways()
        self._sums: dict[int, NDArray[np.float64]] = {}  # completions from a node, up to every bin
        self._asked = [0] * len(self._graph.nodes)
        self._chances: dict[tuple[int, int, Bins], list[float]] = {}  # cumulative, of the edges of a node in a window
        self._counted: dict[Budget, float] = {}

    def within(self, space: SearchSpace) -> CostCounts:
        """Return the counts of a narrower space."""
        return CostCounts(space, self.ceiling, self._graph.within(space))

    def count(self, budget: Budget) -> float:
        """Return the number of architectures inside the budget; an upper bound if costs had to be rounded."""
        if budget not in self._counted:
            whole = (self._between(root.node, *self._window(budget, root.stem)) for root in self._graph.roots)
            self._counted[budget] = sum(whole)
        return self._counted[budget]

    def sample(self, budget: Budget, random: Random) -> Architecture:
        """Draw an architecture inside the budget; all are equally likely."""
        self.require_any(budget, "the budget")
        for _ in range(MOST_REDRAWS):
            architecture = self._walk(budget, random)
            if self._graph.exact or self.space.cost(architecture) in budget:
                return architecture
        raise infeasible(self.space, budget, "the budget")

    def require_any(self, budget: Budget, name: str) -> None:
        """Refuse an empty window; the error has the attainable range."""
        if self.count(budget) <= 0:
            raise infeasible(self.space, budget, name)

    def _walk(self, budget: Budget, random: Random) -> Architecture:
        stages: list[list[Block]] = [[] for _ in self.space.stages]
        roots = self._graph.roots
        windows = [self._window(budget, root.stem) for root in roots]
        chosen = 0
        if len(roots) > 1:
            weights = [self._between(root.node, *window) for root, window in zip(roots, windows, strict=True)]
            (chosen,) = random.choices(range(len(weights)), weights)
        resolution, _, node = roots[chosen]
        low, high = windows[chosen]
        while node.edges:
            edge, taken = self._next(node, low, high, random)
            if edge.block is not None:
                stages[node.stage].append(edge.block)
            low, high = low - taken[0], _less(high, taken)
            node = edge.after
        return Architecture(self.space.name, tuple(tuple(blocks) for blocks in stages), resolution)

    def _next(self, node: Node, low: int, high: Bins, random: Random) -> tuple[Edge, Bins]:
        """Draw an edge of a node in proportion to its completions inside the window; return it with its cost."""
        taken, ways = self._graph.taken[node.index], self._graph.ways[node.index]
        chance = self._chances.get(place := (node.index, low, high))
        if chance is None:
            weights = [1.0]  # there is no choice
            if len(ways) > 1:
                weights = [
                    self._between(way.after, low - taken[way.edge][0], _less(high, taken[way.edge])) for way in ways
                ]
            # Children of the same parents are similar, so the same windows occur again and again.
            chance = self._chances[place] = list(accumulate(weights))
        number = random.choices(ways, cum_weights=chance)[0].edge
        return node.edges[number], taken[number]

    def _window(self, budget: Budget, stem: Cost) -> tuple[int, Bins]:
        return self._graph.window(budget, stem, self._graph.longest)

    def _count_ways(self) -> list[NDArray[np.float64]]:
        """Return by node the number of completions at each cost, [bins of each axis] over its span."""
        graph = self._graph
        ways: list[NDArray[np.float64]] = [np.zeros(0)] * len(graph.nodes)
        for node in reversed(graph.nodes):
            span = graph.spans[node.index]
            if span is None:
                continue
            table = np.zeros(span.shape) if node.finish is None else np.ones(span.shape)
            for _, after, whole in graph.ways[node.index]:
                where, kept = span.overlap(whole)
                table[where] += ways[after.index][kept]
            ways[node.index] = table
        return ways

    def _between(self, node: Node, low: int, high: Bins) -> float:
        """Return the number of completions from a node inside a window."""
        span = self._graph.spans[node.index]
        if span is None:
            return 0.0
        if len(high) == 1:
            return self._between_two(node, max(low - span.least[0], 0), high[0] - span.least[0] + 1)
        part = span.window(low, high)
        return 0.0 if part is None else float(self._ways[node.index][part].sum())

    def _between_two(self, node: Node, start: int, end: int) -> float:
        """Sum the bins, or, for a node that is used often, take the difference of two running sums.

        A difference that is tiny relative to the running sums is not used: it would be rounding error.
        """
        ways = self._ways[node.index]
        end = min(end, len(ways))
        if end <= start:
            return 0.0
        self._asked[node.index] += 1
        if self._asked[node.index] > OFTEN:
            sums = self._sums.get(node.index)
            if sums is None:
                sums = self._sums[node.index] = np.concatenate(([0.0], np.cumsum(ways)))
            difference = float(sums[end] - sums[start])
            if difference > SMALLEST_SHARE * sums[end]:
                return difference
        return float(ways[start:end].sum())


class BudgetSampler:
    """Draws and counts the architectures of ``space`` inside one budget."""

    def __init__(self, space: SearchSpace, budget: Budget, counts: CostCounts | None = None) -> None:
        self.budget = budget
        self._counts = counts or CostCounts(space, budget)

    def within(self, space: SearchSpace) -> BudgetSampler:
        """Return a sampler of the same budget in a narrower space, such as the children of a parent."""
        return BudgetSampler(space, self.budget, self._counts.within(space))

    @property
    def count(self) -> float:
        return self._counts.count(self.budget)

    def sample(self, random: Random) -> Architecture:
        """Draw an architecture inside the budget; all are equally likely."""
        return self._counts.sample(self.budget, random)

    def require_any(self, name: str) -> None:
        """Refuse an empty budget; ``name`` is the start of the message."""
        self._counts.require_any(self.budget, name)


class EvenSampler:
    """Draws architectures evenly over the whole range of MACs, and uniformly within a slice of the range.

    Independent draws of genes would hardly ever reach the ends of the range, where the budgets of a family are. With a
    ``budget``, the range is its window.
    """

    def __init__(self, space: SearchSpace, budget: Budget | None = None, slices: int = 32) -> None:
        low, high = space.macs_range
        if budget is not None:
            low, high = max(low, budget.min_macs), min(high, budget.max_macs)
            if low > high:
                raise infeasible(space, budget, "the budget")
        self._whole = replace(budget or Budget(low, high), min_macs=low, max_macs=high)
        edges = [low + (high - low) * index // slices for index in range(slices + 1)]
        self._counts = CostCounts(space, self._whole)
        windows = [replace(self._whole, min_macs=first, max_macs=last) for first, last in pairwise(edges)]
        self._slices = [window for window in windows if self._counts.count(window) > 0]

    def sample(self, random: Random) -> Architecture:
        """Draw a slice of the range, and an architecture from it."""
        return self._counts.sample(random.choice(self._slices), random)

    def in_turn(self, random: Random) -> Iterator[Architecture]:
        """Yield one architecture of every slice, in random order, again and again without end."""
        slices = list(self._slices)
        while slices:
            for window in random.sample(slices, len(slices)):
                try:
                    yield self._counts.sample(window, random)
                except BudgetInfeasible:  # attainable only by rounding
                    slices.remove(window)
        raise infeasible(self._counts.space, self._whole, "the budget")


def _less(high: Bins, taken: Bins) -> Bins:
    return tuple(map(sub, high, taken))
