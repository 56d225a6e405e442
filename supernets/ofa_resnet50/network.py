"""The plain ResNet of one architecture of the elastic ResNet-50."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from regnas.networks.resnet import GlobalAverage
from regnas.space import Architecture
from supernets.extraction import Make, build
from supernets.images import Resize
from supernets.layers import ConvNorm
from supernets.ofa_resnet50.rules import stride_of


class Stem(nn.Module):
    """Three convolutions, of which the second is an optional residual, and pooling: a quarter of the size."""

    def __init__(self, middle: int, width: int, residual: bool) -> None:
        super().__init__()
        self.first = ConvNorm(3, middle, 3, 2, activation="relu")
        self.residual = ConvNorm(middle, middle, 3, activation="relu") if residual else None
        self.last = ConvNorm(middle, width, 3, activation="relu")
        self.pool = nn.MaxPool2d(3, 2, padding=1)

    def forward(self, images: Tensor) -> Tensor:
        x = self.first(images)
        if self.residual is not None:
            x = x + self.residual(x)
        pooled: Tensor = self.pool(self.last(x))
        return pooled


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions with a shortcut; the first block of a stage pools and projects the shortcut."""

    def __init__(self, channels_in: int, middle: int, width: int, stride: int, projected: bool) -> None:
        super().__init__()
        self.reduce = ConvNorm(channels_in, middle, 1, activation="relu")
        self.spatial = ConvNorm(middle, middle, 3, stride, activation="relu")
        self.restore = ConvNorm(middle, width, 1)
        self.shortcut = (
            nn.Sequential(
                OrderedDict(
                    pool=nn.AvgPool2d(stride, ceil_mode=True) if stride > 1 else nn.Identity(),
                    conv=nn.Conv2d(channels_in, width, 1, bias=False),
                    norm=nn.BatchNorm2d(width),
                )
            )
            if projected
            else nn.Identity()
        )

    @property
    def residual_norms(self) -> tuple[nn.BatchNorm2d]:
        return (self.restore.norm,)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.restore(self.spatial(self.reduce(x))) + self.shortcut(x))


class BottleneckResNet(nn.Module):
    """The plain network; the only block of its first stage is the stem."""

    def __init__(self, resolution: int | None, stages: Sequence[Sequence[nn.Module]], classifier: nn.Module) -> None:
        super().__init__()
        self.resize = Resize(resolution)
        self.stages = nn.ModuleList(nn.Sequential(*blocks) for blocks in stages)
        self.classifier = classifier

    def parts(self) -> list[nn.Module]:
        """Return modules whose composition is the network: resizing, the stem and every block, and the head."""
        blocks = [block for stage in self.stages for block in stage]  # type: ignore[attr-defined]
        return [self.resize, *blocks, nn.Sequential(GlobalAverage(), self.classifier)]

    def forward(self, images: Tensor) -> Tensor:
        x = self.resize(images)
        for stage in self.stages:
            x = stage(x)
        logits: Tensor = self.classifier(x.mean(dim=(2, 3)))  # [N, C, H, W] -> [N, C] -> [N, classes]
        return logits


def resnet(architecture: Architecture, classes: int, make: Make = build) -> BottleneckResNet:
    """Build the network of an architecture from layers of ``make``."""
    stages: list[list[nn.Module]] = [[] for _ in architecture.stages]
    channels = 3
    for stage, position, block in architecture.blocks():
        middle, width = int(block["middle"]), int(block["width"])
        if stage == 0:
            stages[stage].append(make(Stem, middle, width, bool(block["residual"])))
        else:
            stride = stride_of(stage, position)
            stages[stage].append(make(Bottleneck, channels, middle, width, stride, position == 0))
        channels = width
    return BottleneckResNet(architecture.resolution, stages, make(nn.Linear, channels, classes))
