"""TrivialAugment."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regnas.augmentations.augmentation import Shape
from regnas.augmentations.checks import require_gray_or_color
from regnas.augmentations.operations import Ranges, operate
from regnas.runtime.draws import Draws

BINS = 31  # magnitudes per operation
WIDE = Ranges(shear=0.99, across=32.0, down=32.0, rotation=135.0, change=0.99, fewest_bits=2)


@dataclass(frozen=True)
class TrivialAugment:
    """One random operation per image at a random magnitude (TrivialAugment Wide: Müller and Hutter, ICCV 2021)."""

    def shape_after(self, shape: Shape) -> Shape:
        require_gray_or_color(shape)
        return shape

    def __call__(self, images: Tensor, draws: Draws) -> Tensor:
        numbers = draws.uniform(3).tolist()  # N of [operation, magnitude, sign]
        changed = [
            operate(image, choice, int(share * BINS) / (BINS - 1), sign, WIDE)
            for image, (choice, share, sign) in zip(images, numbers, strict=True)
        ]
        return torch.stack(changed)
