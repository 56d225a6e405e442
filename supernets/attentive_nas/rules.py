"""AttentiveNAS as a search space: its choices, which block may follow which, and the costs.

All blocks of a stage share width, kernel and expansion, so the state carries them from block to block. The first
convolution is the only block of the first stage; the last layers are the only block of the last stage.
"""

from __future__ import annotations

from dataclasses import dataclass

from regnas.space import Block, Cost, Stage, State
from supernets.channels import expand, stride_output
from supernets.costs import bottleneck_cost, convolution_cost


@dataclass(frozen=True)
class MobileStage:
    """The choices for the blocks of a stage; the first block has the stride."""

    widths: tuple[int, ...]
    depths: tuple[int, int]  # fewest and most blocks
    expansions: tuple[int, ...]
    stride: int
    squeezing: bool
    kernels: tuple[int, ...] = (3, 5)

    @property
    def expanding(self) -> bool:
        return self.expansions != (1,)


FIRST_WIDTHS = (16, 24)
LAST_WIDTHS = (1792, 1984)
LAST_EXPANSION = 6
STAGES = (
    MobileStage((16, 24), (1, 2), (1,), stride=1, squeezing=False),
    MobileStage((24, 32), (3, 5), (4, 5, 6), stride=2, squeezing=False),
    MobileStage((32, 40), (3, 6), (4, 5, 6), stride=2, squeezing=True),
    MobileStage((64, 72), (3, 6), (4, 5, 6), stride=2, squeezing=False),
    MobileStage((112, 120, 128), (3, 8), (4, 5, 6), stride=1, squeezing=True),
    MobileStage((192, 200, 208, 216), (3, 8), (6,), stride=2, squeezing=True),
    MobileStage((216, 224), (1, 2), (6,), stride=1, squeezing=True),
)


def attentive_stages() -> tuple[Stage, ...]:
    """Build the space; ``projected`` says whether the shortcut of a stage's first block has weights (new width)."""
    stages = [Stage(1, (_of_width(FIRST_WIDTHS),))]
    widths_before: tuple[int, ...] = FIRST_WIDTHS
    for stage in STAGES:
        first = {
            Block.of(kernel=kernel, middle=expand(before, ratio), width=width, projected=int(before != width))
            for kernel in stage.kernels
            for width in stage.widths
            for before in widths_before
            for ratio in stage.expansions
        }
        later = {
            Block.of(kernel=kernel, middle=expand(width, ratio), width=width)
            for kernel in stage.kernels
            for width in stage.widths
            for ratio in stage.expansions
        }
        options = (_sorted(first), *(_sorted(later),) * (stage.depths[1] - 1))
        stages.append(Stage(stage.depths[0], options))
        widths_before = stage.widths
    return (*stages, Stage(1, (_of_width(LAST_WIDTHS),)))


def _of_width(widths: tuple[int, ...]) -> tuple[Block, ...]:
    return tuple(Block.of(width=width) for width in widths)


def _sorted(blocks: set[Block]) -> tuple[Block, ...]:
    return tuple(sorted(blocks, key=lambda block: block.genes))


@dataclass(frozen=True)
class AttentiveRules:
    """The state: size and channels of the feature maps, and kernel and expansion of the current stage."""

    channels: int
    height: int
    width: int
    classes: int

    def start(self, resolution: int | None) -> tuple[State, Cost]:
        """Return the state before the first block and the cost of the stem."""
        size = (self.height, self.width) if resolution is None else (resolution, resolution)
        return (size, self.channels, 0, 0), Cost(0, 0)

    def step(self, state: State, stage: int, position: int, block: Block) -> tuple[State, Cost] | None:
        """Return the state after the block and its cost, or None if it is not allowed here."""
        assert isinstance(state, tuple)
        size, channels, kernel, expansion = state
        genes = {name: int(value) for name, value in block.genes}
        width = genes["width"]
        if stage == 0:
            size = stride_output(size, 2)
            return (size, width, 0, 0), convolution_cost(channels, width, 3, size)
        if stage > len(STAGES):
            mixing = LAST_EXPANSION * channels * width
            expanding = convolution_cost(channels, LAST_EXPANSION * channels, 1, size)
            return (size, width, 0, 0), expanding.plus(Cost(mixing, mixing))
        of_stage = STAGES[stage - 1]
        if position == 0:
            kernel = genes["kernel"]
            ratios = {expand(channels, ratio): ratio for ratio in of_stage.expansions}
            expansion = ratios.get(genes["middle"], 0)
            fits = expansion > 0 and genes["projected"] == (channels != width)
        else:
            fits = (genes["kernel"], width, genes["middle"]) == (kernel, channels, expand(channels, expansion))
        if not fits:
            return None
        stride = of_stage.stride if position == 0 else 1
        cost = bottleneck_cost(
            *(channels, genes["middle"], width, kernel, stride, size, of_stage.squeezing, of_stage.expanding),
            projected=channels != width,
        )
        return (stride_output(size, stride), width, kernel, expansion), cost

    def finish(self, state: State) -> Cost:
        """Return the cost of the head."""
        assert isinstance(state, tuple)
        _, channels, _, _ = state
        return Cost(channels * self.classes, (channels + 1) * self.classes)
