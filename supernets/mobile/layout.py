"""The fixed parts of all sub-networks of a mobile search space, and its choices."""

from __future__ import annotations

from dataclasses import dataclass

from regnas.space import Block, Stage
from supernets.channels import expand
from supernets.layers import Activation, ShortcutKind


@dataclass(frozen=True)
class MobileStage:
    """Blocks of one width; the first block has the stride."""

    width: int
    stride: int
    activation: Activation
    squeezing: bool
    depths: tuple[int, int]  # fewest and most blocks


@dataclass(frozen=True)
class MobileLayout:
    """Stem, a first block without expansion, the elastic stages, and a head.

    The head is a 1x1 convolution to ``head_width``, the average and, if ``mixed_width`` is set, one more layer before
    the classifier.
    """

    channels: int
    classes: int
    stem_width: int
    stem_stride: int
    stem_activation: Activation
    first_width: int
    first_activation: Activation
    first_shortcut: ShortcutKind
    stages: tuple[MobileStage, ...]
    kernels: tuple[int, ...]
    expansions: tuple[float, ...]
    head_width: int
    mixed_width: int | None
    epsilon: float = 1e-5  # of batch norm

    def width_before(self, stage: int, position: int) -> int:
        """Return the input channels of a block."""
        if position > 0:
            return self.stages[stage].width
        return self.stages[stage - 1].width if stage > 0 else self.first_width

    def stride(self, stage: int, position: int) -> int:
        """Return the stride of a block."""
        return self.stages[stage].stride if position == 0 else 1

    def shortcut(self, stage: int, position: int) -> ShortcutKind:
        """Return the shortcut of a block: the identity if size and width stay the same."""
        same = self.stride(stage, position) == 1 and self.width_before(stage, position) == self.stages[stage].width
        return "identity" if same else "none"

    def expansion(self, stage: int, position: int, block: Block) -> float:
        """Return the expansion that gives the block its middle channels."""
        channels = self.width_before(stage, position)
        return next(ratio for ratio in self.expansions if expand(channels, ratio) == block["middle"])

    def elastic_stages(self) -> tuple[Stage, ...]:
        """Return the stages of the search space."""
        return tuple(
            Stage(
                stage.depths[0],
                tuple(self._options(self.width_before(index, position)) for position in range(stage.depths[1])),
            )
            for index, stage in enumerate(self.stages)
        )

    def _options(self, channels_in: int) -> tuple[Block, ...]:
        middles = sorted({expand(channels_in, ratio) for ratio in self.expansions})
        return tuple(Block.of(kernel=kernel, middle=middle) for kernel in self.kernels for middle in middles)
