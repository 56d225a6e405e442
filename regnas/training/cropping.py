"""Random resized crops of a batch, each image by its own box (Szegedy et al., CVPR 2015)."""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

AREA = (0.08, 1.0)  # of the image
RATIO = (3 / 4, 4 / 3)  # width : height
ATTEMPTS = 10  # boxes drawn per image; the first that lies inside is used, or the whole image if none does

Boxes = NDArray[np.int64]  # [4, N]: top, left, height, width


def random_boxes(random: np.random.Generator, count: int, height: int, width: int) -> Boxes:
    """Draw boxes with uniform area, logarithm of the ratio, and position.

    The number of draws is fixed, so the box of one image does not depend on those of others.
    """
    area = height * width * random.uniform(*AREA, (ATTEMPTS, count))  # [A, N]
    ratio = np.exp(random.uniform(math.log(RATIO[0]), math.log(RATIO[1]), (ATTEMPTS, count)))  # [A, N]
    heights, widths = np.rint(np.sqrt(area / ratio)).astype(np.int64), np.rint(np.sqrt(area * ratio)).astype(np.int64)
    inside = (heights >= 1) & (heights <= height) & (widths >= 1) & (widths <= width)  # [A, N]
    first, found = inside.argmax(0), inside.any(0)  # [N]
    own_height = np.where(found, heights[first, np.arange(count)], height)  # [N]
    own_width = np.where(found, widths[first, np.arange(count)], width)  # [N]
    place = random.random((2, count))
    top = np.floor(place[0] * (height - own_height + 1)).astype(np.int64)
    left = np.floor(place[1] * (width - own_width + 1)).astype(np.int64)
    return np.stack([top, left, own_height, own_width])


def resized_crops(images: Tensor, boxes: Boxes) -> Tensor:
    """Resize the box of each image bilinearly to the size of the images: uint8 [N, C, H, W] -> [N, C, H, W].

    A box is never larger than its image, so nothing shrinks and no smoothing is needed.
    """
    _, _, height, width = images.shape
    top, left, own_height, own_width = torch.from_numpy(boxes).to(images.device, torch.float32)
    y = _coordinates(top, own_height, height)  # [N, H], in [-1, 1]
    x = _coordinates(left, own_width, width)  # [N, W]
    grid = torch.stack(
        [x[:, None, :].expand(-1, height, -1), y[:, :, None].expand(-1, -1, width)], dim=3
    )  # [N, H, W, 2]
    sampled = F.grid_sample(images.to(torch.float32), grid, mode="bilinear", align_corners=False)
    return sampled.round().to(images.dtype)


def _coordinates(start: Tensor, extent: Tensor, size: int) -> Tensor:
    """Return the positions of the ``size`` output pixels in the input, [N, size], clamped to the box."""
    steps = torch.arange(size, device=start.device) + 0.5  # [size]
    pixel = start[:, None] + steps * (extent / size)[:, None] - 0.5  # [N, size]
    inside = torch.minimum(torch.maximum(pixel, start[:, None]), (start + extent - 1)[:, None])
    return (2 * inside + 1) / size - 1
