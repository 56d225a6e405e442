"""Random erasing."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regnas.augmentations.augmentation import Shape
from regnas.augmentations.boxes import DRAWN, random_boxes
from regnas.augmentations.checks import require_probability, require_range
from regnas.runtime.draws import Draws

WHITE = 255


@dataclass(frozen=True)
class RandomErasing:
    """Fill a random box with one ``value`` of 0 to 255, each image with the ``probability`` (Zhong et al., 2020).

    ``scale`` is the range of the area relative to the image, ``ratio`` that of height : width.
    """

    probability: float = 0.5
    scale: tuple[float, float] = (0.02, 0.33)
    ratio: tuple[float, float] = (0.3, 3.3)
    value: int = 0

    def __post_init__(self) -> None:
        require_probability(self.probability)
        require_range("scale", self.scale, highest=1)
        require_range("ratio", self.ratio)
        if not 0 <= self.value <= WHITE:
            raise ValueError(f"value must be between 0 and {WHITE}, got {self.value}")

    def shape_after(self, shape: Shape) -> Shape:
        return shape

    def __call__(self, images: Tensor, draws: Draws) -> Tensor:
        height, width = images.shape[2:]
        uniform = draws.uniform(1 + DRAWN)
        ratio = 1 / self.ratio[1], 1 / self.ratio[0]  # width : height
        boxes, fit = random_boxes(uniform[:, 1:], (height, width), self.scale, ratio, (height - 1, width - 1))
        top, left, own_height, own_width = torch.from_numpy(boxes)[:, :, None]  # [N, 1] each
        chosen = torch.from_numpy(fit & (uniform[:, 0] < self.probability))  # [N]
        rows, columns = torch.arange(height), torch.arange(width)
        in_rows = (rows >= top) & (rows < top + own_height) & chosen[:, None]  # [N, H]
        in_columns = (columns >= left) & (columns < left + own_width)  # [N, W]
        inside = in_rows[:, None, :, None] & in_columns[:, None, None, :]  # [N, 1, H, W]
        return images.masked_fill(inside, self.value)
