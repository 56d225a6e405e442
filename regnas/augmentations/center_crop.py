"""The center of images."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torchvision.transforms.v2 import functional

from regnas.augmentations.augmentation import Shape
from regnas.augmentations.checks import require_size
from regnas.runtime.draws import Draws


@dataclass(frozen=True)
class CenterCrop:
    """Cut the center square of ``size`` x ``size`` pixels."""

    size: int

    def __post_init__(self) -> None:
        require_size(self.size)

    def shape_after(self, shape: Shape) -> Shape:
        channels, height, width = shape
        if self.size > min(height, width):
            raise ValueError(
                f"size must be at most that of the images, {height} x {width}, got {self.size}. Lower it, or resize "
                "the images before."
            )
        return channels, self.size, self.size

    def __call__(self, images: Tensor, draws: Draws) -> Tensor:
        cut: Tensor = functional.center_crop(images, [self.size])
        return cut
