"""Resizing."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torchvision.transforms.v2 import functional

from regnas.augmentations.augmentation import Shape
from regnas.augmentations.checks import require_size
from regnas.runtime.draws import Draws


@dataclass(frozen=True)
class Resize:
    """Resize so that the shorter side has ``size`` pixels."""

    size: int

    def __post_init__(self) -> None:
        require_size(self.size)

    def shape_after(self, shape: Shape) -> Shape:
        channels, height, width = shape
        shorter = min(height, width)
        return channels, int(self.size * height / shorter), int(self.size * width / shorter)

    def __call__(self, images: Tensor, draws: Draws) -> Tensor:
        resized: Tensor = functional.resize(images, [self.size])
        return resized
