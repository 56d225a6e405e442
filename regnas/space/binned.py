"""The graph of a space with its costs in bins, for dynamic programs over the architectures of a budget.

There is an axis for multiply-adds, and one each for parameters and latency if the budget limits them. A bin is the
greatest common divisor of all costs if that gives few enough bins, and sums are then exact. Otherwise every cost is
rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from operator import add, le, sub
from typing import NamedTuple

from regnas.errors import BudgetInfeasible
from regnas.space.architecture import Block
from regnas.space.budget import UNLIMITED, Budget, Cost, format_macs
from regnas.space.graph import Node, reachable
from regnas.space.space import SearchSpace

# How the axes share the digits of the largest number of bins, multiply-adds first; by the number of axes.
AXIS_SHARES = {1: (1.0,), 2: (0.6, 0.4), 3: (0.5, 0.25, 0.25)}

Bins = tuple[int, ...]  # one number per axis
Slices = tuple[slice, ...]


class Root(NamedTuple):
    """A start of the graph: the resolution, the cost of the stem, and the first node."""

    resolution: int | None
    stem: Cost
    node: Node


class Span(NamedTuple):
    """The costs of the cheapest and of the dearest continuation from a node, on each axis."""

    least: Bins
    most: Bins

    @property
    def shape(self) -> Bins:
        return tuple(most - least + 1 for least, most in zip(self.least, self.most, strict=True))

    def overlap(self, other: Span) -> tuple[Slices, Slices]:
        """Return the slices of the common bins in a table of this span and in a table of the other."""
        lows = tuple(map(max, self.least, other.least))
        ends = tuple(high + 1 for high in map(min, self.most, other.most))
        here = map(slice, map(sub, lows, self.least), map(sub, ends, self.least))
        there = map(slice, map(sub, lows, other.least), map(sub, ends, other.least))
        return tuple(here), tuple(there)

    def window(self, low: int, high: Bins) -> Slices | None:
        """Return the slices of a table between ``low`` on the first axis and ``high`` on all axes; None if empty."""
        ends = [last - start + 1 for last, start in zip(high, self.least, strict=True)]
        if min(ends) <= 0:
            return None
        return (slice(max(low - self.least[0], 0), ends[0]), *(slice(end) for end in ends[1:]))


class Way(NamedTuple):
    """An edge of a node that can still lead into the window."""

    edge: int  # its number among the edges of a node
    after: Node
    span: Span  # of the edge and everything that can follow it


class BinnedGraph:
    """Every node of ``space`` that can be reached, in the order of the forward pass, up to ``ceiling``.

    By the index of a node: the cost of each edge (``taken``), the span of all continuations inside the ceiling's window
    (``spans``, None if there are none), and the edges that can still lead into the window (``ways``).
    """

    def __init__(self, space: SearchSpace, ceiling: Budget, most_bins: int) -> None:
        starts = [space.rules.start(resolution) for resolution in space.resolutions]
        self.nodes = reachable(space, [state for state, _ in starts])
        places = dict(zip(dict.fromkeys(state for state, _ in starts), self.nodes, strict=False))
        self.roots = [
            Root(resolution, stem, places[state])
            for resolution, (state, stem) in zip(space.resolutions, starts, strict=True)
        ]
        self._axes = _axes(space, ceiling)
        # The most that is left for the blocks and the head.
        most = [max(limit - min(axis(stem) for _, stem in starts), 0) for axis, limit in self._axes]
        shares = AXIS_SHARES[len(self._axes)]
        coarse = [left / most_bins**share for left, share in zip(most, shares, strict=True)]
        costs = [edge.cost for node in self.nodes for edge in node.edges]
        costs += [node.finish for node in self.nodes if node.finish]
        exact = [_common_unit([axis(cost) for cost in costs]) for axis, _ in self._axes]
        self._units = [
            max(own, math.ceil(rough)) if own else max(rough, 1e-9) for own, rough in zip(exact, coarse, strict=True)
        ]
        self.exact = self._units == exact
        self._last = tuple(int(left // unit) for left, unit in zip(most, self._units, strict=True))
        self.taken = [[self.bins(edge.cost) for edge in node.edges] for node in self.nodes]
        # Rounding may have removed a part of a bin from every cost on the longest path.
        self.longest = len(space.stages) + sum(stage.max_depth for stage in space.stages) + 1
        self._first = min(self.window(ceiling, stem, self.longest)[0] for _, stem in starts)
        self._find_ways([range(len(node.edges)) for node in self.nodes])

    def within(self, space: SearchSpace) -> BinnedGraph:
        """Return the part of the graph of a narrower space, which is much faster than building it again."""
        part = copy(self)
        part.roots = [root for root in self.roots if root.resolution in space.resolutions]
        open_edges: list[list[int]] = [[] for _ in self.nodes]
        reached = {root.node.index for root in part.roots}
        for node in self.nodes:
            if node.index not in reached or node.finish is not None:
                continue
            stage, numbers = space.stages[node.stage], node.edge_numbers
            wanted: list[Block | None] = [None] if node.position >= stage.min_depth else []
            if node.position < stage.max_depth:
                wanted += stage.options[node.position]
            for number in [numbers[block] for block in wanted if block in numbers]:
                open_edges[node.index].append(number)
                reached.add(node.edges[number].after.index)
        part._find_ways(open_edges)
        return part

    def bins(self, cost: Cost) -> Bins:
        """Return the bin of a cost on each axis."""
        return tuple(int(axis(cost) // unit) for (axis, _), unit in zip(self._axes, self._units, strict=True))

    def window(self, budget: Budget, spent: Cost, rounded: int) -> tuple[int, Bins]:
        """Return the bins left for the rest after ``spent``: the first of multiply-adds, and the last of each axis.

        ``rounded`` is the largest number of costs in the rest: rounding may have removed a part of a bin from each.
        """
        low = -int((spent.macs - budget.min_macs) // self._units[0]) - (0 if self.exact else rounded)
        limits = (budget.max_macs, *(limit for _, limit in self._axes[1:]))
        high = [
            int((limit - axis(spent)) // unit)
            for (axis, _), limit, unit in zip(self._axes, limits, self._units, strict=True)
        ]
        return low, tuple(high)

    def _find_ways(self, open_edges: Sequence[Sequence[int]]) -> None:
        self.spans: list[Span | None] = [None] * len(self.nodes)
        self.ways: list[list[Way]] = [[] for _ in self.nodes]
        before = self._spent_before(open_edges)
        for node in reversed(self.nodes):
            if not open_edges[node.index] and node.finish is None:
                continue
            ways = []
            for number in open_edges[node.index]:
                after, taken = node.edges[number].after, self.taken[node.index][number]
                rest = self.spans[after.index]
                if rest is not None and self._inside(least := _plus(rest.least, taken)):
                    ways.append(Way(number, after, Span(least, _plus(rest.most, taken))))
            wholes = [way.span for way in ways]
            if node.finish is not None and self._inside(head := self.bins(node.finish)):
                wholes.append(Span(head, head))
            span = self._needed_span(wholes, *before[node.index]) if wholes else None
            if span is not None:
                self.spans[node.index] = span
                first, last = span.least[0], span.most[0]
                self.ways[node.index] = [w for w in ways if w.span.least[0] <= last and w.span.most[0] >= first]

    def _spent_before(self, open_edges: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
        """Return by node the least and the most multiply-adds on the paths to it."""
        least, most = [self._last[0]] * len(self.nodes), [0] * len(self.nodes)
        for root in self.roots:
            least[root.node.index] = 0
        for node in self.nodes:
            low, high, taken = least[node.index], most[node.index], self.taken[node.index]
            for number in open_edges[node.index]:
                after, (own, *_) = node.edges[number].after.index, taken[number]
                if low + own < least[after]:
                    least[after] = low + own
                if high + own > most[after]:
                    most[after] = high + own
        return list(zip(least, most, strict=True))

    def _needed_span(self, wholes: Sequence[Span], least_before: int, most_before: int) -> Span | None:
        """Return the span of all of them, limited to what leads into the ceiling's window after the costs before."""
        least = [min(axis) for axis in zip(*(whole.least for whole in wholes), strict=True)]
        most = [max(axis) for axis in zip(*(whole.most for whole in wholes), strict=True)]
        least[0] = max(least[0], self._first - most_before)
        most = list(map(min, most, self._last))
        most[0] = min(most[0], self._last[0] - least_before)
        return Span(tuple(least), tuple(most)) if least[0] <= most[0] else None

    def _inside(self, bins: Bins) -> bool:
        return all(map(le, bins, self._last))


def infeasible(space: SearchSpace, budget: Budget, name: str) -> BudgetInfeasible:
    """Return the error for a budget without architectures, with the attainable range."""
    low, high = space.macs_range
    return BudgetInfeasible(
        f"{name}: no architecture takes {budget}; the attainable range is {format_macs(low)} to {format_macs(high)} "
        "MACs. Move the budget into it, or widen its window."
    )


def _axes(space: SearchSpace, ceiling: Budget) -> list[tuple[Callable[[Cost], float], float]]:
    """Return the costs that the budget limits, with their limits."""
    limit = ceiling.max_macs if ceiling.max_macs < UNLIMITED else space.macs_range[1]
    axes: list[tuple[Callable[[Cost], float], float]] = [(lambda cost: cost.macs, limit)]
    if ceiling.max_parameters is not None:
        axes.append((lambda cost: cost.parameters, ceiling.max_parameters))
    if ceiling.max_latency is not None:
        axes.append((lambda cost: cost.latency, ceiling.max_latency))
    return axes


def _common_unit(values: list[float]) -> int:
    """Return the greatest common divisor, or 0 for measured values, which have none."""
    if not all(isinstance(value, int) for value in values):
        return 0
    return math.gcd(*(int(value) for value in values)) or 1


def _plus(bins: Bins, taken: Bins) -> Bins:
    return tuple(map(add, bins, taken))
