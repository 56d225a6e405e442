"""Mirroring in every other epoch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regnas.augmentations.augmentation import Shape
from regnas.augmentations.horizontal_flip import mirrored
from regnas.runtime.draws import Draws


@dataclass(frozen=True)
class AlternatingFlip:
    """Mirror every image in every other epoch, from a random first one (Jordan, 2024, "94 % on CIFAR-10").

    Two epochs in a row show both versions of every image, which random mirroring does for half of them.
    """

    def shape_after(self, shape: Shape) -> Shape:
        return shape

    def __call__(self, images: Tensor, draws: Draws) -> Tensor:
        first = draws.of_all_epochs().uniform(1)[:, 0] < 0.5  # [N]
        return mirrored(images, torch.from_numpy(first ^ (draws.epoch % 2 == 1)))
