"""Architectures inside a budget, drawn directly.

Counting first: for every place in the network and every remaining cost, how many ways there are to go on (a dynamic
program over the blocks, with the cost in bins). A draw then walks forward and takes each choice in proportion to the
number of completions inside the window, so every architecture of the window is equally likely and none is rejected.

The bin is the greatest common divisor of all costs where that leaves few enough bins, and the counts are then exact.
Otherwise costs are rounded, and the few draws that rounding put outside the window are drawn again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray

from regnas.errors import BudgetInfeasible
from regnas.space.architecture import Architecture, Block
from regnas.space.budget import Budget, format_macs
from regnas.space.space import SearchSpace, State

MOST_BINS = 1 << 15
MOST_REDRAWS = 10_000


@dataclass
class _Node:
    """A place in the network: so many blocks of a stage chosen, and the state they left."""

    stage: int
    position: int
    edges: list[tuple[Block | None, _Node, int]] = field(default_factory=list)  # None ends the stage
    finish_macs: int | None = None
    ways: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))  # [bins], by what the rest costs


class CostCounts:
    """How many ways there are to complete a network from every place, by what they cost, up to ``max_macs``.

    One table serves every budget below ``max_macs``.
    """

    def __init__(self, space: SearchSpace, max_macs: int) -> None:
        self.space = space
        start_state, start_cost = space.rules.start()
        nodes = _reachable(space, start_state)
        self._root = nodes[0]
        self._stem_macs = start_cost.macs
        costs = [edge[2] for node in nodes for edge in node.edges]
        costs += [node.finish_macs for node in nodes if node.finish_macs is not None]
        exact_unit = math.gcd(*costs) or 1
        most = max(max_macs - start_cost.macs, 0)  # all that is left for the blocks and the head
        self._unit = max(exact_unit, math.ceil(most / MOST_BINS))
        self._exact = self._unit == exact_unit
        self._slack = 0 if self._exact else len(space.stages) + sum(stage.max_depth for stage in space.stages) + 1
        self._count_ways(nodes, bins=most // self._unit + 1)

    def count(self, budget: Budget) -> float:
        """How many architectures are inside (an upper bound where costs had to be rounded)."""
        return _between(self._root.ways, *self._window(budget))

    def sample(self, budget: Budget, random: Random) -> Architecture:
        self.require_any(budget, "the budget")
        for _ in range(MOST_REDRAWS):
            architecture = self._walk(budget, random)
            if self._exact or self.space.cost(architecture).macs in budget:
                return architecture
        raise BudgetInfeasible(self._explanation(budget, "the budget"))

    def require_any(self, budget: Budget, name: str) -> None:
        """Refuse an empty window, with the attainable range."""
        if self.count(budget) <= 0:
            raise BudgetInfeasible(self._explanation(budget, name))

    def _walk(self, budget: Budget, random: Random) -> Architecture:
        stages: list[list[Block]] = [[] for _ in self.space.stages]
        node = self._root
        low, high = self._window(budget)
        while node.edges:
            taken = [cost // self._unit for _, _, cost in node.edges]
            weights = [
                _between(after.ways, low - bins, high - bins)
                for (_, after, _), bins in zip(node.edges, taken, strict=True)
            ]
            (index,) = random.choices(range(len(taken)), weights)
            block, after, _ = node.edges[index]
            if block is not None:
                stages[node.stage].append(block)
            node, low, high = after, low - taken[index], high - taken[index]
        return Architecture(self.space.name, tuple(tuple(blocks) for blocks in stages))

    def _window(self, budget: Budget) -> tuple[int, int]:
        """The bins, first and last, that blocks and head may take together."""
        low = -((self._stem_macs - budget.min_macs) // self._unit) - self._slack
        return low, (budget.max_macs - self._stem_macs) // self._unit

    def _count_ways(self, nodes: list[_Node], bins: int) -> None:
        for node in reversed(nodes):
            ways = np.zeros(bins)
            if node.finish_macs is not None:
                ways[node.finish_macs // self._unit :][:1] += 1
            for _, after, cost in node.edges:
                shift = cost // self._unit
                if shift < bins:
                    ways[shift:] += after.ways[: bins - shift]
            node.ways = ways

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
        self._counts = CostCounts(space, budget.max_macs)

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
        self._counts = CostCounts(space, high)
        slices = [Budget(first, last) for first, last in pairwise(edges)]
        self._slices = [budget for budget in slices if self._counts.count(budget) > 0]

    def sample(self, random: Random) -> Architecture:
        return self._counts.sample(random.choice(self._slices), random)


def _between(ways: NDArray[np.float64], low: int, high: int) -> float:
    return float(ways[max(low, 0) : max(high + 1, 0)].sum())


def _reachable(space: SearchSpace, start: State) -> list[_Node]:
    """Every place that can be reached, in the order of the forward pass, each before all that follow it."""
    layer: dict[State, _Node] = {start: _Node(0, 0)}
    nodes = []
    for stage_index, stage in enumerate(space.stages):
        ended: dict[State, _Node] = {}
        for position in range(stage.max_depth + 1):
            deeper: dict[State, _Node] = {}
            for state, node in layer.items():
                nodes.append(node)
                if position >= stage.min_depth:
                    node.edges.append((None, ended.setdefault(state, _Node(stage_index + 1, 0)), 0))
                if position == stage.max_depth:
                    continue
                for block in stage.options[position]:
                    after = space.rules.step(state, stage_index, position, block)
                    if after is not None:
                        next_node = deeper.setdefault(after[0], _Node(stage_index, position + 1))
                        node.edges.append((block, next_node, after[1].macs))
            layer = deeper
        layer = ended
    for state, node in layer.items():
        node.finish_macs = space.rules.finish(state).macs
        nodes.append(node)
    return nodes
