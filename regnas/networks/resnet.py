"""A plain residual network with given middle and output channels of every block."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch.nn.functional as F
from torch import Tensor, nn


def middle_channels(width: float, expansion: float) -> int:
    """Return the channels inside a block of this width: width * expansion, rounded, at least one."""
    return max(1, round(width * expansion))


class Convolution(nn.Conv2d):
    """A 3x3 convolution that keeps the size, without bias because a norm follows."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__(channels_in, channels_out, 3, padding=1, bias=False)


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut without weights (ResNet's option A).

    The shortcut averages if the block has a stride (odd sizes are rounded up, as in the convolution) and pads with zero
    channels if the block is wider than its input. The leading channels therefore mean the same in every sub-network.
    """

    def __init__(self, channels_in: int, middle: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.padding = channels_out - channels_in
        self.conv1 = nn.Conv2d(channels_in, middle, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(middle)
        self.conv2 = nn.Conv2d(middle, channels_out, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels_out)

    @property
    def residual_norms(self) -> tuple[nn.BatchNorm2d]:
        return (self.norm2,)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.stride == 1 else F.avg_pool2d(x, self.stride, ceil_mode=True)
        if self.padding:
            shortcut = F.pad(shortcut, (0, 0, 0, 0, 0, self.padding))
        x = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(x)) + shortcut)


class ResNet(nn.Module):
    """Stem, stages of residual blocks (all but the first halve the resolution), average, linear classifier.

    ``stages`` has the blocks of each stage as ``(middle_channels, channels_out)``. ``patch`` is the side of the squares
    of pixels that the stem merges. ``make(kind, *settings)`` builds the layers, or finds them.
    """

    def __init__(
        self,
        channels: int,
        classes: int,
        patch: int,
        stem_width: int,
        stages: Sequence[Sequence[tuple[int, int]]],
        make: Callable[..., nn.Module] = lambda kind, *settings: kind(*settings),
    ) -> None:
        super().__init__()
        self.patch = make(nn.PixelUnshuffle, patch)
        self.stem = make(Convolution, channels * patch**2, stem_width)
        self.stem_norm = make(nn.BatchNorm2d, stem_width)
        self.stages = nn.ModuleList()
        width = stem_width
        for index, blocks in enumerate(stages):
            stage = nn.Sequential()
            for position, (middle, channels_out) in enumerate(blocks):
                stride = 2 if index > 0 and position == 0 else 1
                stage.append(make(ResidualBlock, width, middle, channels_out, stride))
                width = channels_out
            self.stages.append(stage)
        self.classifier = make(nn.Linear, width, classes)

    def parts(self) -> list[nn.Module]:
        """Return modules whose composition is the network: the stem, every block, and the head."""
        stem = nn.Sequential(self.patch, self.stem, self.stem_norm, nn.ReLU())
        blocks = [block for stage in self.stages for block in stage]  # type: ignore[attr-defined]
        return [stem, *blocks, nn.Sequential(GlobalAverage(), self.classifier)]

    def forward(self, images: Tensor) -> Tensor:
        x = F.relu(self.stem_norm(self.stem(self.patch(images))))
        for stage in self.stages:
            x = stage(x)
        logits: Tensor = self.classifier(x.mean(dim=(2, 3)))  # [N, C, H, W] -> [N, C] -> [N, classes]
        return logits


class GlobalAverage(nn.Module):
    """The mean over all pixels: [N, C, H, W] -> [N, C]."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(dim=(2, 3))
