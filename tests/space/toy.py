"""A space small enough to enumerate, with rules written independently of any network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from regnas.space import Architecture, Block, Cost, SearchSpace, Stage


@dataclass(frozen=True)
class ToyRules:
    """The state is the resolution and the width so far, which may not shrink.

    A block costs (width before) * (width) * k * resolution, a millisecond a unit of k.
    """

    scale: int = 1

    def start(self, resolution):
        size = resolution or 1
        return (size, 1), Cost(10 * self.scale * size, 1)

    def step(self, state, stage, position, block):
        size, before = state
        width = block["width"]
        if width < before:
            return None
        macs = before * width * block["k"] * (stage + 1) * self.scale * size
        return (size, width), Cost(macs, width, float(block["k"]))

    def finish(self, state):
        return Cost(state[1] * self.scale, 2)


def toy_space(scale: int = 1) -> SearchSpace:
    def options(*widths):
        return tuple(Block.of(width=width, k=k) for width in widths for k in (1, 3))

    stages = (Stage(1, (options(1, 2), options(1, 2, 3))), Stage(0, (options(2, 4), options(2, 4))))
    return SearchSpace("toy", stages, ToyRules(scale))


def sized_space() -> SearchSpace:
    """The toy with three resolutions."""
    return replace(toy_space(), resolutions=(1, 2, 3))


def enumerate_space(space: SearchSpace) -> list[Architecture]:
    """Every architecture, by brute force over all depths and options."""
    found = []
    depth_ranges = [range(stage.min_depth, stage.max_depth + 1) for stage in space.stages]
    for depths in product(*depth_ranges):
        choices = [product(*stage.options[:depth]) for stage, depth in zip(space.stages, depths, strict=True)]
        for resolution, *blocks in product(space.resolutions, *choices):
            architecture = Architecture(space.name, tuple(tuple(stage) for stage in blocks), resolution)
            widths = [1, *(block["width"] for _, _, block in architecture.blocks())]
            if widths == sorted(widths):
                found.append(architecture)
    return found
