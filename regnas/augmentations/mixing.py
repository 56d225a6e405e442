"""What the augmentations share that mix the images of a batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from regnas.augmentations.augmentation import Mixing, Shape
from regnas.augmentations.checks import require_probability


@dataclass(frozen=True)
class MixedLabels:
    """The labels of the partners, and the share of the own labels of the images."""

    partners: Tensor  # [N]
    share: float


def choose_mixing(mixings: Sequence[Mixing], random: np.random.Generator) -> Mixing | None:
    """Return the mixing of a batch, each with equal chance, or None if it is left out by its probability."""
    if not mixings:
        return None
    chosen = mixings[int(random.integers(len(mixings)))]
    return chosen if random.random() < chosen.probability else None


@dataclass(frozen=True)
class BetaMixing:
    """The keys of mixings whose share is drawn from Beta(alpha, alpha)."""

    alpha: float = 1.0
    probability: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.alpha < math.inf:
            raise ValueError(f"alpha must be above 0 and finite, got {self.alpha}")
        require_probability(self.probability)

    def shape_after(self, shape: Shape) -> Shape:
        return shape
