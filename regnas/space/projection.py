"""Find the architecture of a space inside a budget that is nearest to a suggestion.

A sampler that suggests one gene at a time hardly ever suggests a network inside a window of two percent, or one that
the rules of the space allow. The nearest allowed network is found exactly, in two steps. A dynamic program from the end
of the network computes for every node, every remaining cost in bins of multiply-adds and every number of genes that
differ from the suggestion, the minimum of each other limited cost. This gives a lower bound on the number of genes that
differ in any network with a given beginning. The second step is A*: it always extends the beginning with the lowest
bound. The first network that is complete and inside the budget by its exact cost is a nearest one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import inf
from random import Random

import numpy as np
from numpy.typing import NDArray

from regnas.space.architecture import Architecture, Block, Gene
from regnas.space.binned import BinnedGraph, infeasible
from regnas.space.budget import Budget, Cost
from regnas.space.genes import RESOLUTION, block_genes, depth_gene, gene_choices
from regnas.space.graph import Node
from regnas.space.space import SearchSpace

MOST_BINS = 1 << 10
FEW_CHANGES = 16  # tried first, because the tables are small
MOST_PLACES = 100_000  # visited before giving up on a window that may be attainable only by rounding

Table = NDArray[np.float64]  # [bins of multiply-adds, changes]: the least of a cost that the rest takes


@dataclass(order=True, slots=True)
class _Way:
    """The beginning of a network, ordered by its lower bound."""

    promise: float  # lower bound on the changes of a network that begins like this
    steps: int  # negative, so that the longest beginning comes first among equals
    tie: float
    changes: int = field(compare=False)
    node: Node = field(compare=False)
    spent: Cost = field(compare=False)
    resolution: int | None = field(compare=False)
    blocks: tuple[tuple[int, Block], ...] = field(compare=False)  # each with its stage


class Projection:
    """Finds the architecture of ``space`` inside ``budget`` that is nearest to a suggestion."""

    def __init__(self, space: SearchSpace, budget: Budget) -> None:
        self.space = space
        self.budget = budget
        self._window = Budget(budget.min_macs, budget.max_macs)
        self._limits = _limits_beside_macs(budget)
        self._most_changes = len(gene_choices(space))
        self._graph = BinnedGraph(space, self._window, MOST_BINS)
        self._rounded = [1] * len(self._graph.nodes)  # costs on the longest path to the end, including the head
        for node in reversed(self._graph.nodes):
            rests = [self._rounded[edge.after.index] + (edge.block is not None) for edge in node.edges]
            self._rounded[node.index] = max(rests, default=1)

    def nearest(self, wanted: Mapping[str, Gene], random: Random) -> Architecture:
        """Return the architecture that differs from ``wanted`` in the fewest genes; ties are broken at random.

        The depth of a stage is one gene, and so is the resolution. The genes of a block that is missing although the
        wanted depth has it count as well: otherwise leaving out blocks would be the cheapest change, and most results
        would be shallow. A gene that ``wanted`` does not name may have any value.
        """
        changes = [[self._changes(node, edge.block, wanted) for edge in node.edges] for node in self._graph.nodes]
        most = FEW_CHANGES
        while (found := self._search(changes, most, wanted, random)) is None:
            if most > self._most_changes:
                raise infeasible(self.space, self.budget, "the budget")
            most *= 2
        return found

    def _search(
        self, changes: list[list[int]], most: int, wanted: Mapping[str, Gene], random: Random
    ) -> Architecture | None:
        """Return the nearest architecture with fewer than ``most`` changes."""
        tables = [self._tables(changes, resource, most) for resource, _ in self._limits]
        waiting = []
        for resolution, stem, node in self._graph.roots:
            own = int(resolution is not None and wanted.get(RESOLUTION, resolution) != resolution)
            waiting.append(
                _Way(own + self._fewest(tables, node, stem), 0, random.random(), own, node, stem, resolution, ())
            )
        heapify(waiting)
        for _ in range(MOST_PLACES):
            if not waiting or waiting[0].promise == inf:
                break
            here = heappop(waiting)
            if here.node.finish is not None:
                if here.spent.plus(here.node.finish) in self.budget:
                    return self._architecture(here)
                continue
            for (block, after, cost), more in zip(here.node.edges, changes[here.node.index], strict=True):
                own, spent = here.changes + more, here.spent.plus(cost)
                promise = own + self._fewest(tables, after, spent)
                blocks = here.blocks if block is None else (*here.blocks, (here.node.stage, block))
                way = _Way(promise, here.steps - 1, random.random(), own, after, spent, here.resolution, blocks)
                heappush(waiting, way)
        return None

    def _changes(self, node: Node, block: Block | None, wanted: Mapping[str, Gene]) -> int:
        """Return the number of genes in which an edge differs: those of its block, or the depth and missing blocks."""
        if block is not None:
            genes = block_genes(node.stage, node.position, block)
            return sum(wanted.get(name, value) != value for name, value in genes)
        depth = int(wanted.get(depth_gene(node.stage), node.position))
        options = self.space.stages[node.stage].options
        lost = [
            name
            for position in range(node.position, min(depth, len(options)))
            for block in options[position][:1]
            for name, _ in block_genes(node.stage, position, block)
        ]
        return (depth != node.position) + sum(name in wanted for name in lost)

    def _tables(self, changes: list[list[int]], resource: Callable[[Cost], float], most: int) -> list[Table]:
        """Return by node the least cost of a completion, by its multiply-adds and changes."""
        graph = self._graph
        tables: list[Table] = [np.zeros((0, 0))] * len(graph.nodes)
        for node in reversed(graph.nodes):
            span = graph.spans[node.index]
            if span is None:
                continue
            table = np.full((*span.shape, most), inf)
            if node.finish is not None:
                table[:, 0] = resource(node.finish)
            for number, after, whole in graph.ways[node.index]:
                own = changes[node.index][number]
                (where,), (kept,) = span.overlap(whole)
                part = table[where, own:]
                rest = tables[after.index][kept, : most - own]
                np.minimum(part, rest + resource(node.edges[number].cost), out=part)
            tables[node.index] = table
        return tables

    def _fewest(self, tables: Sequence[list[Table]], node: Node, spent: Cost) -> float:
        """Return a lower bound on the changes on every path from here to an end inside the budget."""
        span = self._graph.spans[node.index]
        low, high = self._graph.window(self._window, spent, self._rounded[node.index])
        part = None if span is None else span.window(low, high)
        if part is None:
            return inf
        fewest = 0.0
        for by_node, (resource, limit) in zip(tables, self._limits, strict=True):
            least = by_node[node.index][part].min(axis=0, initial=inf)
            # The last digits of a sum of measured values depend on the order of addition.
            enough = np.flatnonzero(least <= limit - resource(spent) + 1e-9 * limit)
            fewest = max(fewest, enough[0] if enough.size else inf)
        return fewest

    def _architecture(self, way: _Way) -> Architecture:
        stages: list[list[Block]] = [[] for _ in self.space.stages]
        for stage, block in way.blocks:
            stages[stage].append(block)
        return Architecture(self.space.name, tuple(map(tuple, stages)), way.resolution)


def _limits_beside_macs(budget: Budget) -> list[tuple[Callable[[Cost], float], float]]:
    """Return the other limited costs; if there are none, a cost of 0 with the limit 0, which checks reachability."""
    limits: list[tuple[Callable[[Cost], float], float]] = []
    if budget.max_parameters is not None:
        limits.append((lambda cost: cost.parameters, budget.max_parameters))
    if budget.max_latency is not None:
        limits.append((lambda cost: cost.latency, budget.max_latency))
    return limits or [(lambda cost: 0, 0)]
