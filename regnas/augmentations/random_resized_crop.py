"""Random resized crops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torchvision.transforms.v2 import functional

from regnas.augmentations.augmentation import Shape
from regnas.augmentations.boxes import DRAWN, Boxes, random_boxes
from regnas.augmentations.checks import require_range, require_size
from regnas.runtime.draws import Draws


@dataclass(frozen=True)
class RandomResizedCrop:
    """Cut a random box and resize it to ``size`` x ``size``, by default the size of the images (Szegedy et al., 2015).

    ``scale`` is the range of the area relative to the image, ``ratio`` that of width : height.
    """

    size: int | None = None
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (0.75, 4 / 3)

    def __post_init__(self) -> None:
        if self.size is not None:
            require_size(self.size)
        require_range("scale", self.scale, highest=1)
        require_range("ratio", self.ratio)

    def shape_after(self, shape: Shape) -> Shape:
        return shape if self.size is None else (shape[0], self.size, self.size)

    def __call__(self, images: Tensor, draws: Draws) -> Tensor:
        size = list(self.shape_after((images.shape[1], images.shape[2], images.shape[3]))[1:])
        boxes = self.boxes(draws, images.shape[2], images.shape[3]).T.tolist()  # N of [top, left, height, width]
        crops = [functional.resized_crop(image, *box, size) for image, box in zip(images, boxes, strict=True)]
        return torch.stack(crops)

    def boxes(self, draws: Draws, height: int, width: int) -> Boxes:
        """Return a box per image; if no drawn box fits, the largest one in the center with an allowed ratio."""
        boxes, fit = random_boxes(draws.uniform(DRAWN), (height, width), self.scale, self.ratio, (height, width))
        return np.where(fit, boxes, _central(height, width, self.ratio)[:, None])


def _central(height: int, width: int, ratio: tuple[float, float]) -> Boxes:
    own_height = min(height, max(1, round(width / ratio[0])))
    own_width = min(width, max(1, round(height * ratio[1])))
    return np.array([(height - own_height) // 2, (width - own_width) // 2, own_height, own_width])
