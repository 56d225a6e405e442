"""Random changes of colors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torchvision.transforms.v2 import functional

from regnas.augmentations.augmentation import Shape
from regnas.augmentations.checks import require_gray_or_color
from regnas.runtime.draws import Draws

CHANGES = ("brightness", "contrast", "saturation", "hue")
HIGHEST_HUE = 0.5
KERNELS = (
    functional.adjust_brightness,
    functional.adjust_contrast,
    functional.adjust_saturation,
    functional.adjust_hue,
)


@dataclass(frozen=True)
class ColorJitter:
    """Change brightness, contrast, saturation and hue in random order, each image by its own factors.

    The factor of ``brightness`` b is uniform in [max(0, 1 - b), 1 + b], and so are those of contrast and saturation.
    The hue is turned by an angle in [-hue, hue], in turns.
    """

    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0
    hue: float = 0.0

    def __post_init__(self) -> None:
        values = [getattr(self, name) for name in CHANGES]
        if not all(value >= 0 for value in values) or not any(values) or self.hue > HIGHEST_HUE:
            raise ValueError(
                f"{', '.join(CHANGES)} must be at least 0, one of them above 0, and hue at most {HIGHEST_HUE}, got "
                f"{', '.join(f'{value:g}' for value in values)}"
            )

    def shape_after(self, shape: Shape) -> Shape:
        require_gray_or_color(shape)
        if shape[0] == 1 and (self.saturation or self.hue):
            raise ValueError(
                "saturation and hue must be 0 for images with 1 channel, got "
                f"{self.saturation:g} and {self.hue:g}. Remove them."
            )
        return shape

    def __call__(self, images: Tensor, draws: Draws) -> Tensor:
        uniform = draws.uniform(2 * len(CHANGES))
        orders = uniform[:, : len(CHANGES)].argsort(1).tolist()  # N of [4]
        factors = uniform[:, len(CHANGES) :].tolist()  # N of [4]
        # One by one: means over an image in a batch may differ in the last bit from those of the image alone.
        return torch.stack([self._changed(*each) for each in zip(images, orders, factors, strict=True)])

    def _changed(self, image: Tensor, order: list[int], uniform: list[float]) -> Tensor:
        for place in order:
            extent = getattr(self, CHANGES[place])
            if extent:
                image = KERNELS[place](image, factor_of(CHANGES[place], extent, uniform[place]))
        return image


def factor_of(change: str, extent: float, uniform: float) -> float:
    """Return the factor of a change from a number in [0, 1)."""
    low, high = (-extent, extent) if change == "hue" else (max(0.0, 1 - extent), 1 + extent)
    return low + (high - low) * uniform
