"""The elastic ResNet: which block may follow which, and the costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from regnas.space import Block, Cost, State
from supernets.elastic_resnet.network import middle_channels


@dataclass(frozen=True)
class ElasticResNetRules:
    """The state is the number of channels so far.

    It never shrinks along the network. If the blocks of a larger network cover those of a smaller one, then the input
    of each block also covers that of the smaller network, even if the larger one has more blocks before it.
    """

    channels: int
    height: int
    width: int
    classes: int
    patch: int
    stem_width: int

    def start(self, resolution: int | None) -> tuple[State, Cost]:
        """Return the state before the first block and the cost of the stem."""
        weights = 9 * self.channels * self.patch**2 * self.stem_width
        return self.stem_width, Cost(weights * self._pixels(0), weights + 2 * self.stem_width)

    def step(self, state: State, stage: int, position: int, block: Block) -> tuple[State, Cost] | None:
        """Return the state after the block and its cost, or None if it is not allowed here."""
        return _step(self, state, stage, position, block)

    def finish(self, state: State) -> Cost:
        """Return the cost of the head."""
        assert isinstance(state, int)
        return Cost(state * self.classes, (state + 1) * self.classes)

    def _pixels(self, stage: int) -> int:
        # A convolution of stride 2 with padding 1 rounds odd sizes up.
        shrink: int = self.patch * 2**stage
        return -(-self.height // shrink) * -(-self.width // shrink)


@cache
def _step(
    rules: ElasticResNetRules, state: State, stage: int, position: int, block: Block
) -> tuple[State, Cost] | None:
    assert isinstance(state, int)
    channels_out = int(block["width"])
    if channels_out < state:
        return None
    middle = middle_channels(channels_out, block["expansion"])
    weights = 9 * middle * (state + channels_out)
    return channels_out, Cost(weights * rules._pixels(stage), weights + 2 * (middle + channels_out))
