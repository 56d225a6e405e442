"""A residual network for small images."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import nn

from regnas.networks.resnet import ResNet, middle_channels


@dataclass(frozen=True)
class SmallResNet:
    """Residual network for small images.

    ``widths`` has the channels of each stage (the first also those of the stem), ``blocks`` is the number of residual
    blocks per stage, ``expansion`` the width inside a block as a multiple of its output, and ``patch`` the side of the
    squares of pixels that the stem merges (2 quarters the cost).
    """

    widths: tuple[int, ...] = (16, 32, 64)
    blocks: int = 1
    expansion: float = 1.0
    patch: int = 1

    def __post_init__(self) -> None:
        if not self.widths or min(self.widths) < 1:
            raise ValueError(f"widths must be at least one positive number of channels, got {list(self.widths)}")
        if list(self.widths) != sorted(self.widths):  # the shortcut can add channels but not remove any
            raise ValueError(f"widths must not shrink from stage to stage, got {list(self.widths)}")
        if self.blocks < 1:
            raise ValueError(f"blocks must be at least 1, got {self.blocks}")
        if not 0 < self.expansion < math.inf:
            raise ValueError(f"expansion must be positive and finite, got {self.expansion}")
        if self.patch < 1:
            raise ValueError(f"patch must be at least 1, got {self.patch}")

    def build(self, input_shape: tuple[int, int, int], classes: int) -> nn.Module:
        """Build the network with fresh weights."""
        channels, height, width = input_shape
        if height % self.patch or width % self.patch:
            raise ValueError(f"patch must divide height and width, got {self.patch} for images of {height} x {width}")
        stages = [[(middle_channels(width, self.expansion), width)] * self.blocks for width in self.widths]
        return ResNet(channels, classes, self.patch, self.widths[0], stages)
