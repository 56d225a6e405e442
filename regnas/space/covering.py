"""Find a few architectures that together have every part of a space."""

from __future__ import annotations

from regnas.space.architecture import Architecture, Block
from regnas.space.graph import Node, reachable
from regnas.space.space import SearchSpace

END = -1
Part = tuple[int, int]  # the index of a node, and the number of the edge taken, or END


def covering(space: SearchSpace) -> list[Architecture]:
    """Return architectures that together have every start, every end, and every block after every possible state.

    The choice is greedy: each architecture has the most parts that no earlier one has. It is a longest path, found
    backward by the best continuation of every node.
    """
    starts = [space.rules.start(resolution)[0] for resolution in space.resolutions]
    places = reachable(space, starts)
    roots = dict(zip(dict.fromkeys(starts), places, strict=False))  # resolutions may leave the same state
    covered: set[Part] = set()
    found = []
    for resolution, start in zip(space.resolutions, starts, strict=True):
        root = roots[start]
        own = _following(root, places)
        ways = _best_ways(own, covered)
        started = False
        while root.index in ways and (not started or ways[root.index][0]):
            found.append(Architecture(space.name, _walk(space, root, ways, covered), resolution))
            ways = _best_ways(own, covered)
            started = True
    return found


def _following(root: Node, places: list[Node]) -> list[Node]:
    """Return the root and all nodes that can follow it, in the same order."""
    reached = {root.index}
    own = []
    for place in places:
        if place.index in reached:
            own.append(place)
            reached.update(after.index for _, after, _ in place.edges)
    return own


def _best_ways(places: list[Node], covered: set[Part]) -> dict[int, tuple[int, int]]:
    """Return, by the index of a node that leads to an end, the most new parts from there on, and the edge to them."""
    ways: dict[int, tuple[int, int]] = {}
    for place in reversed(places):
        options = []
        if place.finish is not None:
            options.append((int((place.index, END) not in covered), END))
        for index, (block, after, _) in enumerate(place.edges):
            if after.index in ways:
                new = block is not None and (place.index, index) not in covered
                options.append((new + ways[after.index][0], index))
        if options:
            ways[place.index] = max(options)
    return ways


def _walk(
    space: SearchSpace, place: Node, ways: dict[int, tuple[int, int]], covered: set[Part]
) -> tuple[tuple[Block, ...], ...]:
    """Return the blocks of the best path, stage by stage, and mark its parts as covered."""
    stages: list[list[Block]] = [[] for _ in space.stages]
    while (index := ways[place.index][1]) != END:
        covered.add((place.index, index))
        block, after, _ = place.edges[index]
        if block is not None:
            stages[place.stage].append(block)
        place = after
    covered.add((place.index, END))
    return tuple(tuple(blocks) for blocks in stages)
