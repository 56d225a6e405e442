"""RandAugment."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regnas.augmentations.augmentation import Shape
from regnas.augmentations.checks import require_gray_or_color
from regnas.augmentations.operations import Ranges, operate
from regnas.runtime.draws import Draws

HIGHEST = 30
FARTHEST = 150 / 331  # of a translation, relative to the image


@dataclass(frozen=True)
class RandAugment:
    """Random ``operations`` one after the other, all at one ``magnitude`` of 0 to 30 (Cubuk et al., NeurIPS 2020)."""

    operations: int = 2
    magnitude: int = 9

    def __post_init__(self) -> None:
        if self.operations < 1:
            raise ValueError(f"operations must be at least 1, got {self.operations}")
        if not 0 <= self.magnitude <= HIGHEST:
            raise ValueError(f"magnitude must be between 0 and {HIGHEST}, got {self.magnitude}")

    def shape_after(self, shape: Shape) -> Shape:
        require_gray_or_color(shape)
        return shape

    def __call__(self, images: Tensor, draws: Draws) -> Tensor:
        height, width = images.shape[2:]
        ranges = Ranges(0.3, FARTHEST * width, FARTHEST * height, rotation=30.0, change=0.9, fewest_bits=4)
        numbers = draws.uniform(2 * self.operations).reshape(len(images), self.operations, 2).tolist()
        return torch.stack([self._changed(image, own, ranges) for image, own in zip(images, numbers, strict=True)])

    def _changed(self, image: Tensor, numbers: list[list[float]], ranges: Ranges) -> Tensor:
        for choice, sign in numbers:
            image = operate(image, choice, self.magnitude / HIGHEST, sign, ranges)
        return image
