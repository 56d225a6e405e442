"""Random shifts."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regnas.augmentations.augmentation import Shape
from regnas.runtime.draws import Draws, integers_of


@dataclass(frozen=True)
class Shift:
    """Shift by up to ``pixels`` in both directions; the margin is filled with zeros."""

    pixels: int

    def __post_init__(self) -> None:
        if self.pixels < 1:
            raise ValueError(f"pixels must be at least 1, got {self.pixels}")

    def shape_after(self, shape: Shape) -> Shape:
        if 2 * self.pixels > min(shape[1:]):
            raise ValueError(
                f"pixels must be at most half of the image, {min(shape[1:]) // 2}, got {self.pixels}. Lower it."
            )
        return shape

    def __call__(self, images: Tensor, draws: Draws) -> Tensor:
        count, _, height, width = images.shape
        rows, columns = torch.from_numpy(integers_of(draws.uniform(2), 2 * self.pixels + 1)).unbind(1)  # [N], [N]
        padded = torch.nn.functional.pad(images, (self.pixels,) * 4)
        windows = padded.unfold(2, height, 1).unfold(3, width, 1)  # [N, C, 2 p + 1, 2 p + 1, H, W], a view
        return windows[torch.arange(count), :, rows, columns]  # [N, C, H, W]
