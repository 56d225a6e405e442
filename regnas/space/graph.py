"""A space as a graph: a node is the number of blocks chosen and the state after them, an edge is the next block."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from regnas.space.architecture import Block
from regnas.space.budget import Cost
from regnas.space.space import SearchSpace, State


class Edge(NamedTuple):
    """The choice of the next block, with its cost and the node after it."""

    block: Block | None  # None ends the stage
    after: Node
    cost: Cost


@dataclass(eq=False)
class Node:
    """A position in the network: the number of blocks of a stage that are chosen, and the state after them."""

    stage: int
    position: int
    index: int = -1  # in the order of the forward pass
    edges: list[Edge] = field(default_factory=list)
    finish: Cost | None = None  # of the head, after the last stage

    @cached_property
    def edge_numbers(self) -> dict[Block | None, int]:
        return {edge.block: number for number, edge in enumerate(self.edges)}


def reachable(space: SearchSpace, starts: list[State]) -> list[Node]:
    """Return every node that can be reached, in the order of the forward pass, each before its successors.

    The nodes of the starts come first, in their order.
    """
    layer: dict[State, Node] = {start: Node(0, 0) for start in starts}
    nodes: list[Node] = []
    for stage_index, stage in enumerate(space.stages):
        ended: dict[State, Node] = {}
        for position in range(stage.max_depth + 1):
            deeper: dict[State, Node] = {}
            for state, node in layer.items():
                node.index = len(nodes)
                nodes.append(node)
                if position >= stage.min_depth:
                    end = ended.get(state) or ended.setdefault(state, Node(stage_index + 1, 0))
                    node.edges.append(Edge(None, end, Cost(0, 0)))
                if position == stage.max_depth:
                    continue
                for block in stage.options[position]:
                    after = space.rules.step(state, stage_index, position, block)
                    if after is not None:
                        place = deeper.get(after[0]) or deeper.setdefault(after[0], Node(stage_index, position + 1))
                        node.edges.append(Edge(block, place, after[1]))
            layer = deeper
        layer = ended
    for state, node in layer.items():
        node.index = len(nodes)
        node.finish = space.rules.finish(state)
        nodes.append(node)
    return nodes
