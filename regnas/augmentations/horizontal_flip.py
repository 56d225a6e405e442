"""Random mirroring."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regnas.augmentations.augmentation import Shape
from regnas.augmentations.checks import require_probability
from regnas.runtime.draws import Draws


@dataclass(frozen=True)
class HorizontalFlip:
    """Mirror left and right, each image with the ``probability``."""

    probability: float = 0.5

    def __post_init__(self) -> None:
        require_probability(self.probability)

    def shape_after(self, shape: Shape) -> Shape:
        return shape

    def __call__(self, images: Tensor, draws: Draws) -> Tensor:
        return mirrored(images, torch.from_numpy(draws.uniform(1)[:, 0] < self.probability))


def mirrored(images: Tensor, chosen: Tensor) -> Tensor:
    """Return the images [N, C, H, W] with the chosen ones [N] mirrored."""
    places = chosen.nonzero()[:, 0]  # [M]
    return images.index_copy(0, places, images[places].flip(3))
