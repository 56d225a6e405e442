"""A space as a graph: places are the blocks chosen so far and the state they left, edges what may follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from regnas.space.architecture import Block
from regnas.space.budget import Cost
from regnas.space.space import SearchSpace, State


class Edge(NamedTuple):
    block: Block | None  # None ends the stage
    after: Node
    cost: Cost


@dataclass(eq=False)
class Node:
    """A place in the network: so many blocks of a stage chosen, and the state they left."""

    stage: int
    position: int
    index: int = -1  # in the order of the forward pass
    edges: list[Edge] = field(default_factory=list)
    finish: Cost | None = None  # of the head, where all stages have ended

    @cached_property
    def edge_numbers(self) -> dict[Block | None, int]:
        return {edge.block: number for number, edge in enumerate(self.edges)}


def reachable(space: SearchSpace, starts: list[State]) -> list[Node]:
    """Every place that can be reached, in the order of the forward pass, each before all that follow it.

    The first ones are those of the starts, in their order.
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
