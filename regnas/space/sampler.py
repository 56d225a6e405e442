"""Architectures inside a budget, drawn directly.

Counting first: for every place in the network and every remaining cost, how many ways there are to go on (a dynamic
program over the blocks, with the costs in bins: an axis for multiply-adds, and one each for parameters and latency
where the budget limits them). A draw then walks forward and takes each choice in proportion to the number of
completions inside the window, so every architecture of the window is equally likely and none is rejected.

A bin is the greatest common divisor of all costs where that leaves few enough bins, and the counts are then exact.
Otherwise costs are rounded, and the few draws that rounding put outside are drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray

from regnas.errors import BudgetInfeasible
from regnas.space.architecture import Architecture, Block
from regnas.space.budget import UNLIMITED, Budget, Cost, format_macs
from regnas.space.space import SearchSpace, State

MOST_BINS = 1 << 15
AXIS_SHARES = {1: (1.0,), 2: (0.6, 0.4), 3: (0.5, 0.25, 0.25)}  # of the digits of MOST_BINS, multiply-adds first
MOST_REDRAWS = 10_000

Bins = tuple[int, ...]  # one number for each axis


@dataclass
class _Node:
    """A place in the network: so many blocks of a stage chosen, and the state they left."""

    stage: int
    position: int
    edges: list[tuple[Block | None, _Node, Cost]] = field(default_factory=list)  # None ends the stage
    finish: Cost | None = None
    ways: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))  # [bins of each axis], by the rest's cost
    taken: list[Bins] = field(default_factory=list)  # by each edge


class CostCounts:
    """How many ways there are to complete a network from every place, by what they cost, up to ``ceiling``.

    One table serves every window on multiply-adds below the ceiling.
    """

    def __init__(self, space: SearchSpace, ceiling: Budget) -> None:
        self.space = space
        self.ceiling = ceiling
        starts = [(resolution, *space.rules.start(resolution)) for resolution in space.resolutions]
        nodes = _reachable(space, [state for _, state, _ in starts])
        self._roots = [(starts[index][0], starts[index][2], nodes[index]) for index in range(len(starts))]
        stem = min((start for _, _, start in starts), key=lambda cost: cost.macs)
        costs = [edge[2] for node in nodes for edge in node.edges] + [node.finish for node in nodes if node.finish]
        self._axes = _axes(space, ceiling)
        most = [max(limit - axis(stem), 0) for axis, limit in self._axes]  # what is left for the blocks and the head
        shares = AXIS_SHARES[len(self._axes)]
        coarse = [left / MOST_BINS**share for left, share in zip(most, shares, strict=True)]
        exact = [_common_unit([axis(cost) for cost in costs]) for axis, _ in self._axes]
        self._units = [
            max(own, math.ceil(rough)) if own else max(rough, 1e-9) for own, rough in zip(exact, coarse, strict=True)
        ]
        self._exact = self._units == exact
        self._slack = 0 if self._exact else len(space.stages) + sum(stage.max_depth for stage in space.stages) + 1
        self._count_ways(nodes, tuple(int(left // unit) + 1 for left, unit in zip(most, self._units, strict=True)))

    def count(self, budget: Budget) -> float:
        """How many architectures are inside (an upper bound where costs had to be rounded)."""
        return sum(_between(root.ways, *self._window(budget, stem)) for _, stem, root in self._roots)

    def sample(self, budget: Budget, random: Random) -> Architecture:
        self.require_any(budget, "the budget")
        for _ in range(MOST_REDRAWS):
            architecture = self._walk(budget, random)
            if self._exact or self.space.cost(architecture) in budget:
                return architecture
        raise BudgetInfeasible(self._explanation(budget, "the budget"))

    def require_any(self, budget: Budget, name: str) -> None:
        """Refuse an empty window, with the attainable range."""
        if self.count(budget) <= 0:
            raise BudgetInfeasible(self._explanation(budget, name))

    def _walk(self, budget: Budget, random: Random) -> Architecture:
        stages: list[list[Block]] = [[] for _ in self.space.stages]
        windows = [self._window(budget, stem) for _, stem, _ in self._roots]
        chosen = 0
        if len(self._roots) > 1:
            weights = [_between(root.ways, *window) for (_, _, root), window in zip(self._roots, windows, strict=True)]
            (chosen,) = random.choices(range(len(weights)), weights)
        resolution, _, node = self._roots[chosen]
        low, high = windows[chosen]
        while node.edges:
            weights = [
                _between(after.ways, low - taken[0], _less(high, taken))
                for (_, after, _), taken in zip(node.edges, node.taken, strict=True)
            ]
            (index,) = random.choices(range(len(weights)), weights)
            block, after, _ = node.edges[index]
            if block is not None:
                stages[node.stage].append(block)
            low, high = low - node.taken[index][0], _less(high, node.taken[index])
            node = after
        return Architecture(self.space.name, tuple(tuple(blocks) for blocks in stages), resolution)

    def _window(self, budget: Budget, stem: Cost) -> tuple[int, Bins]:
        """The bins that blocks and head may take together: the first of multiply-adds, and the last of each axis."""
        low = -int((stem.macs - budget.min_macs) // self._units[0]) - self._slack
        limits = (budget.max_macs, *(limit for _, limit in self._axes[1:]))
        high = [
            int((limit - axis(stem)) // unit)
            for (axis, _), limit, unit in zip(self._axes, limits, self._units, strict=True)
        ]
        return low, tuple(high)

    def _count_ways(self, nodes: list[_Node], bins: Bins) -> None:
        for node in reversed(nodes):
            ways = np.zeros(bins)
            if node.finish is not None:
                ways[tuple(slice(place, None) for place in self._bins(node.finish))][(slice(1),) * len(bins)] += 1
            node.taken = [self._bins(cost) for _, _, cost in node.edges]
            for (_, after, _), taken in zip(node.edges, node.taken, strict=True):
                if all(shift < size for shift, size in zip(taken, bins, strict=True)):
                    kept = tuple(slice(size - shift) for shift, size in zip(taken, bins, strict=True))
                    ways[tuple(slice(shift, None) for shift in taken)] += after.ways[kept]
            node.ways = ways

    def _bins(self, cost: Cost) -> Bins:
        return tuple(int(axis(cost) // unit) for (axis, _), unit in zip(self._axes, self._units, strict=True))

    def _explanation(self, budget: Budget, name: str) -> str:
        low, high = self.space.macs_range
        return (
            f"{name}: no architecture takes {budget}; the attainable range is {format_macs(low)} to "
            f"{format_macs(high)} MACs: move the budget into it or widen its window"
        )


class BudgetSampler:
    """All architectures of ``space`` inside one budget, to draw from and to count."""

    def __init__(self, space: SearchSpace, budget: Budget) -> None:
        self.budget = budget
        self._counts = CostCounts(space, budget)

    @property
    def count(self) -> float:
        return self._counts.count(self.budget)

    def sample(self, random: Random) -> Architecture:
        return self._counts.sample(self.budget, random)

    def require_any(self, name: str) -> None:
        self._counts.require_any(self.budget, name)


class EvenSampler:
    """Architectures spread evenly over the whole range of MACs, uniform among those of a slice of it.

    Drawing genes independently would hardly ever visit the ends of the range, where the budgets of a family lie.
    """

    SLICES = 32

    def __init__(self, space: SearchSpace) -> None:
        low, high = space.macs_range
        edges = [low + (high - low) * index // self.SLICES for index in range(self.SLICES + 1)]
        self._counts = CostCounts(space, Budget(low, high))
        slices = [Budget(first, last) for first, last in pairwise(edges)]
        self._slices = [budget for budget in slices if self._counts.count(budget) > 0]

    def sample(self, random: Random) -> Architecture:
        return self._counts.sample(random.choice(self._slices), random)


def _axes(space: SearchSpace, ceiling: Budget) -> list[tuple[Callable[[Cost], float], float]]:
    """What the budget limits, and where."""
    limit = ceiling.max_macs if ceiling.max_macs < UNLIMITED else space.macs_range[1]
    axes: list[tuple[Callable[[Cost], float], float]] = [(lambda cost: cost.macs, limit)]
    if ceiling.max_parameters is not None:
        axes.append((lambda cost: cost.parameters, ceiling.max_parameters))
    if ceiling.max_latency is not None:
        axes.append((lambda cost: cost.latency, ceiling.max_latency))
    return axes


def _common_unit(values: list[float]) -> int:
    """The greatest common divisor, or 0 where there is none since the values are measured and not counted."""
    if not all(isinstance(value, int) for value in values):
        return 0
    return math.gcd(*(int(value) for value in values)) or 1


def _less(high: Bins, taken: Bins) -> Bins:
    return tuple(own - other for own, other in zip(high, taken, strict=True))


def _between(ways: NDArray[np.float64], low: int, high: Bins) -> float:
    if min(high) < 0:
        return 0.0
    return float(ways[(slice(max(low, 0), high[0] + 1), *(slice(limit + 1) for limit in high[1:]))].sum())


def _reachable(space: SearchSpace, starts: list[State]) -> list[_Node]:
    """Every place that can be reached, in the order of the forward pass, each before all that follow it.

    The first ones are those of the starts, in their order.
    """
    layer: dict[State, _Node] = {start: _Node(0, 0) for start in starts}
    nodes = []
    for stage_index, stage in enumerate(space.stages):
        ended: dict[State, _Node] = {}
        for position in range(stage.max_depth + 1):
            deeper: dict[State, _Node] = {}
            for state, node in layer.items():
                nodes.append(node)
                if position >= stage.min_depth:
                    node.edges.append((None, ended.setdefault(state, _Node(stage_index + 1, 0)), Cost(0, 0)))
                if position == stage.max_depth:
                    continue
                for block in stage.options[position]:
                    after = space.rules.step(state, stage_index, position, block)
                    if after is not None:
                        next_node = deeper.setdefault(after[0], _Node(stage_index, position + 1))
                        node.edges.append((block, next_node, after[1]))
            layer = deeper
        layer = ended
    for state, node in layer.items():
        node.finish = space.rules.finish(state)
        nodes.append(node)
    return nodes
