"""Mixup."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regnas.augmentations.augmentation import Shape
from regnas.augmentations.checks import require_probability
from regnas.augmentations.mixing import require_alpha


@dataclass(frozen=True)
class Mixup:
    """share * image + (1 - share) * partner, with the share of a batch from Beta(alpha, alpha) (Zhang et al., 2018).

    A batch is mixed with the ``probability``.
    """

    alpha: float = 1.0
    probability: float = 1.0

    def __post_init__(self) -> None:
        require_alpha(self.alpha)
        require_probability(self.probability)

    def shape_after(self, shape: Shape) -> Shape:
        return shape

    def mix(self, images: Tensor, partners: Tensor, random: np.random.Generator) -> tuple[Tensor, float]:
        share = float(random.beta(self.alpha, self.alpha))
        return torch.lerp(partners, images, share), share
