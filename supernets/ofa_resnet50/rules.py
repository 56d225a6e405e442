"""The elastic ResNet-50 as a search space: its choices, which block may follow which, and the costs.

The first stage is the stem, a single block. All blocks of a stage share one width, which is the state that one block
passes to the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from regnas.space import Block, Cost, Stage, State
from supernets.channels import expand, multiple_of_eight, stride_output
from supernets.costs import convolution_cost

STAGE_WIDTHS = (256, 512, 1024, 2048)
BASE_DEPTHS = (2, 2, 4, 2)
STEM_WIDTH = 64


def stride_of(stage: int, position: int) -> int:
    """Return the stride of a block; stages after the stem are counted from 1."""
    return 2 if stage > 1 and position == 0 else 1


def resnet_stages(
    widths: tuple[float, ...], expansions: tuple[float, ...], depths: tuple[int, int]
) -> tuple[Stage, ...]:
    """Build the space; ``widths`` and ``expansions`` are multiples, ``depths`` counts blocks beyond the base."""
    stems = [multiple_of_eight(STEM_WIDTH * multiple) for multiple in widths]
    stem_options = tuple(
        Block.of(middle=middle, width=width, residual=residual)
        for middle in sorted({multiple_of_eight(stem // 2) for stem in stems})
        for width in sorted(set(stems))
        for residual in (0, 1)
    )
    stages = [Stage(1, (stem_options,))]
    for full_width, base_depth in zip(STAGE_WIDTHS, BASE_DEPTHS, strict=True):
        choices = sorted({multiple_of_eight(full_width * multiple) for multiple in widths})
        options = tuple(
            Block.of(middle=middle, width=width)
            for width in choices
            for middle in sorted({expand(width, expansion) for expansion in expansions})
        )
        stages.append(Stage(base_depth + depths[0], (options,) * (base_depth + depths[1])))
    return tuple(stages)


@dataclass(frozen=True)
class ResNetRules:
    """The state: the size of the feature maps and their channels, which are the width of the stage."""

    classes: int
    height: int
    width: int

    def start(self, resolution: int | None) -> tuple[State, Cost]:
        """Return the state before the first block and the cost of the stem."""
        size = (self.height, self.width) if resolution is None else (resolution, resolution)
        return (size, 3), Cost(0, 0)

    def step(self, state: State, stage: int, position: int, block: Block) -> tuple[State, Cost] | None:
        """Return the state after the block and its cost, or None if it is not allowed here."""
        assert isinstance(state, tuple)
        size, channels = state
        genes = dict(block.genes)
        middle, width = int(genes["middle"]), int(genes["width"])
        if stage == 0:
            halved = stride_output(size, 2)
            cost = convolution_cost(channels, middle, 3, halved).plus(convolution_cost(middle, width, 3, halved))
            if genes["residual"]:
                cost = cost.plus(convolution_cost(middle, middle, 3, halved))
            return (stride_output(halved, 2), width), cost  # the second stride is the pooling
        if position > 0 and width != channels:
            return None
        after = stride_output(size, stride_of(stage, position))
        cost = convolution_cost(channels, middle, 1, size).plus(convolution_cost(middle, middle, 3, after))
        cost = cost.plus(convolution_cost(middle, width, 1, after))
        if position == 0:
            cost = cost.plus(convolution_cost(channels, width, 1, after))
        return (after, width), cost

    def finish(self, state: State) -> Cost:
        """Return the cost of the head."""
        assert isinstance(state, tuple)
        _, channels = state
        return Cost(channels * self.classes, (channels + 1) * self.classes)
