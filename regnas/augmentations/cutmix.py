"""CutMix."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from regnas.augmentations.mixing import BetaMixing


@dataclass(frozen=True)
class CutMix(BetaMixing):
    """Replace a box of every image by that of its partner; the labels count by area (Yun et al., ICCV 2019).

    The box is the same for all images of a batch. Its area is 1 - share, with share ~ Beta(alpha, alpha), before the
    part outside of the image is cut off. A batch is mixed with the ``probability``.
    """

    def mix(self, images: Tensor, partners: Tensor, random: np.random.Generator) -> tuple[Tensor, float]:
        height, width = images.shape[2:]
        half = 0.5 * math.sqrt(1 - random.beta(self.alpha, self.alpha))
        rows = _span(random, half, height)
        columns = _span(random, half, width)
        mixed = images.clone()
        mixed[:, :, rows, columns] = partners[:, :, rows, columns]
        area = (rows.stop - rows.start) * (columns.stop - columns.start)
        return mixed, 1 - area / (height * width)


def _span(random: np.random.Generator, half: float, size: int) -> slice:
    center, extent = int(random.integers(size)), int(half * size)
    return slice(max(0, center - extent), min(size, center + extent))
