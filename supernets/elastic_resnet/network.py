"""The plain residual network of one architecture."""

from __future__ import annotations

from regnas.networks.resnet import ResNet, middle_channels
from regnas.space import Architecture
from supernets.extraction import Make, build


def resnet_of(
    architecture: Architecture, channels: int, classes: int, patch: int, stem_width: int, make: Make = build
) -> ResNet:
    """Build the network with the widths and expansions of the architecture, with random weights."""
    stages = [
        [(middle_channels(int(block["width"]), block["expansion"]), int(block["width"])) for block in blocks]
        for blocks in architecture.stages
    ]
    return ResNet(channels, classes, patch, stem_width, stages, make)


__all__ = ["middle_channels", "resnet_of"]
