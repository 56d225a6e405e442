"""A space as large as published ones: inverted bottlenecks with a kernel and an expansion, in stages of some depth."""

from __future__ import annotations

from dataclasses import dataclass

from regnas.space import Block, Cost, SearchSpace, Stage

WIDTHS = (24, 40, 80, 112, 160)


@dataclass(frozen=True)
class MobileRules:
    """The state is the resolution and the number of channels; every stage halves the image."""

    def start(self, resolution):
        size = (resolution or 128) // 2
        return (size, 16), Cost(size**2 * 27 * 16, 27 * 16, 0.25)

    def step(self, state, stage, position, block):
        size, channels = state
        size = size // 2 if position == 0 else size
        middle, width = channels * block["expansion"], WIDTHS[stage]
        weights = middle * (channels + block["kernel"] ** 2 + width)
        return (size, width), Cost(size**2 * weights, weights, 0.1 + 0.037 * block["kernel"] + size**2 * weights / 3e7)

    def finish(self, state):
        size, channels = state
        return Cost(size**2 * channels * 960 + 960_000, channels * 960 + 960_000, 0.5)


def mobile_space(stages: int = 5, most: int = 4, resolutions=(None,)) -> SearchSpace:
    """Stages of 2 to ``most`` blocks, each with 9 options."""
    options = tuple(Block.of(kernel=kernel, expansion=expansion) for kernel in (3, 5, 7) for expansion in (3, 4, 6))
    return SearchSpace("mobile", (Stage(2, (options,) * most),) * stages, MobileRules(), resolutions)
