"""Suggestions brought into a space and a budget.

A sampler that suggests one gene at a time hardly ever suggests a network inside a window of two percent, or one that
the rules of the space allow. What is nearest to the suggestion is found exactly: a dynamic program over the places of
the network gives, for every place and every cost of the rest in bins, the fewest genes in which a completion differs
from the suggestion. Where bins are rounded that is a lower bound; so the walk forward takes the most promising way
first (A*), and the first network that is complete and inside by its exact cost is a nearest one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import inf
from random import Random

import numpy as np
from numpy.typing import NDArray

from regnas.space.architecture import Architecture, Block, Gene
from regnas.space.binned import BinnedGraph, infeasible
from regnas.space.budget import Budget, Cost
from regnas.space.genes import RESOLUTION, block_genes, depth_gene
from regnas.space.graph import Node
from regnas.space.space import SearchSpace

MOST_BINS = 1 << 12
MOST_PLACES = 100_000  # visited before a window is given up that only rounding makes look attainable

Genes = Sequence[tuple[str, Gene]]


@dataclass(order=True, slots=True)
class _Way:
    """The beginning of a network, ordered by how promising it is."""

    estimate: float  # the fewest changes of a network that begins like this
    to_go: int  # among equals the one that is nearest to its end, so that it is reached before others are begun
    tie: float
    changed: int = field(compare=False)
    node: Node = field(compare=False)
    spent: Cost = field(compare=False)
    resolution: int | None = field(compare=False)
    blocks: tuple[tuple[int, Block], ...] = field(compare=False)  # each with its stage


class Projection:
    """The architectures of ``space`` inside ``budget``, to find the one nearest to a suggestion."""

    def __init__(self, space: SearchSpace, budget: Budget) -> None:
        self.space = space
        self.budget = budget
        self._graph = BinnedGraph(space, budget, MOST_BINS)
        self._settled = [[_settled(node, edge.block) for edge in node.edges] for node in self._graph.nodes]
        self._names = [
            [[name for name, _ in block_genes(index, position, options[0])] for position, options in enumerate(stage.options) if options]
            for index, stage in enumerate(space.stages)
        ]
        self._rounded = [1] * len(self._graph.nodes)  # costs on the longest way to the end, the head's included
        for node in reversed(self._graph.nodes):
            rests = [self._rounded[edge.after.index] + (edge.block is not None) for edge in node.edges]
            self._rounded[node.index] = max(rests, default=1)

    def nearest(self, wanted: Mapping[str, Gene], random: Random) -> Architecture:
        """The architecture that differs from ``wanted`` in the fewest genes, by chance among equals.

        The depth of a stage is one gene, and so is the resolution. The genes of a block that the wanted depth has and
        the architecture has not count as well: else leaving blocks out would be the cheapest change, and shallow
        networks would come out of everything. A gene that ``wanted`` does not name may be anything.
        """
        changes = [
            [_differing(genes, wanted) + self._lost(node, edge.block, wanted) for genes, edge in zip(settled, node.edges, strict=True)]
            for settled, node in zip(self._settled, self._graph.nodes, strict=True)
        ]
        fewest = self._fewest(changes)

        def way(
            changed: int, node: Node, spent: Cost, resolution: int | None, blocks: tuple[tuple[int, Block], ...]
        ) -> _Way:
            rest = self._fewest_of_rest(fewest, node, spent)
            return _Way(changed + rest, -node.index, random.random(), changed, node, spent, resolution, blocks)

        waiting = [
            way(_differing(_sized(root.resolution), wanted), root.node, root.stem, root.resolution, ())
            for root in self._graph.roots
        ]
        heapify(waiting)
        for _ in range(MOST_PLACES):
            if not waiting or waiting[0].estimate == inf:
                break
            here = heappop(waiting)
            if here.node.finish is not None:
                if here.spent.plus(here.node.finish) in self.budget:
                    return self._architecture(here)
                continue
            for (block, after, cost), more in zip(here.node.edges, changes[here.node.index], strict=True):
                blocks = here.blocks if block is None else (*here.blocks, (here.node.stage, block))
                heappush(waiting, way(here.changed + more, after, here.spent.plus(cost), here.resolution, blocks))
        raise infeasible(self.space, self.budget, "the budget")

    def _lost(self, node: Node, block: Block | None, wanted: Mapping[str, Gene]) -> int:
        """How many genes are wanted of blocks that do not come when the stage ends here."""
        if block is not None:
            return 0
        missing = self._names[node.stage][node.position : int(wanted.get(depth_gene(node.stage), 0))]
        return sum(name in wanted for names in missing for name in names)

    def _fewest(self, changes: list[list[int]]) -> list[NDArray[np.float32]]:
        """By node, [bins of each axis] over its span: the fewest changes of a completion at that cost."""
        graph = self._graph
        fewest: list[NDArray[np.float32]] = [np.zeros(0, np.float32)] * len(graph.nodes)
        for node in reversed(graph.nodes):
            span = graph.spans[node.index]
            if span is None:
                continue
            table = np.full(span.shape, inf if node.finish is None else 0, np.float32)
            for number, after, whole in graph.ways[node.index]:
                where, kept = span.overlap(whole)
                part = table[where]
                np.minimum(part, fewest[after.index][kept] + np.float32(changes[node.index][number]), out=part)
            fewest[node.index] = table
        return fewest

    def _fewest_of_rest(self, fewest: list[NDArray[np.float32]], node: Node, spent: Cost) -> float:
        """The fewest changes on the way from here to an end inside the budget, or fewer where costs are rounded."""
        span = self._graph.spans[node.index]
        part = None if span is None else span.window(*self._graph.window(self.budget, spent, self._rounded[node.index]))
        return inf if part is None else float(fewest[node.index][part].min(initial=inf))

    def _architecture(self, way: _Way) -> Architecture:
        stages: list[list[Block]] = [[] for _ in self.space.stages]
        for stage, block in way.blocks:
            stages[stage].append(block)
        return Architecture(self.space.name, tuple(map(tuple, stages)), way.resolution)


def _settled(node: Node, block: Block | None) -> Genes:
    """The genes that an edge settles: those of its block, or the depth of the stage that it ends."""
    return [(depth_gene(node.stage), node.position)] if block is None else block_genes(node.stage, node.position, block)


def _sized(resolution: int | None) -> Genes:
    return [] if resolution is None else [(RESOLUTION, resolution)]


def _differing(genes: Genes, wanted: Mapping[str, Gene]) -> int:
    return sum(wanted.get(name, value) != value for name, value in genes)
