"""A space small enough to enumerate, with rules written independently of any network."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from regnas.space import Architecture, Block, Cost, SearchSpace, Stage


@dataclass(frozen=True)
class ToyRules:
    """The state is the width so far, which may not shrink; a block costs (width before) * (width) * k."""

    scale: int = 1

    def start(self):
        return 1, Cost(10 * self.scale, 1)

    def step(self, state, stage, position, block):
        width = block["width"]
        if width < state:
            return None
        macs = state * width * block["k"] * (stage + 1) * self.scale
        return width, Cost(macs, width)

    def finish(self, state):
        return Cost(state * self.scale, 2)


def toy_space(scale: int = 1) -> SearchSpace:
    def options(*widths):
        return tuple(Block.of(width=width, k=k) for width in widths for k in (1, 3))

    stages = (Stage(1, (options(1, 2), options(1, 2, 3))), Stage(0, (options(2, 4), options(2, 4))))
    return SearchSpace("toy", stages, ToyRules(scale))


def enumerate_space(space: SearchSpace) -> list[Architecture]:
    """Every architecture, by brute force over all depths and options."""
    found = []
    depth_ranges = [range(stage.min_depth, stage.max_depth + 1) for stage in space.stages]
    for depths in product(*depth_ranges):
        choices = [product(*stage.options[:depth]) for stage, depth in zip(space.stages, depths, strict=True)]
        for blocks in product(*choices):
            architecture = Architecture(space.name, tuple(tuple(stage) for stage in blocks))
            widths = [1, *(block["width"] for _, _, block in architecture.blocks())]
            if widths == sorted(widths):
                found.append(architecture)
    return found
