"""Mixup."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regnas.augmentations.mixing import BetaMixing


@dataclass(frozen=True)
class Mixup(BetaMixing):
    """share * image + (1 - share) * partner, with the share of a batch from Beta(alpha, alpha) (Zhang et al., 2018).

    A batch is mixed with the ``probability``.
    """

    def mix(self, images: Tensor, partners: Tensor, random: np.random.Generator) -> tuple[Tensor, float]:
        share = float(random.beta(self.alpha, self.alpha))
        return torch.lerp(partners, images, share), share
