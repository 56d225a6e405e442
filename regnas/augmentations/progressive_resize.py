"""Small images first."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torchvision.transforms.v2 import functional

from regnas.augmentations.augmentation import Shape
from regnas.runtime.draws import Draws


@dataclass(frozen=True)
class ProgressiveResize:
    """Small images first, which cost less: from ``start`` of the size, up to the full size from ``until`` on.

    The size grows linearly with the epochs (Howard, 2018, fast.ai's entry in DAWNBench) in multiples of ``multiple``
    pixels. ``until`` is a fraction of the training.
    """

    start: float = 0.5
    until: float = 0.75
    multiple: int = 4

    def __post_init__(self) -> None:
        if not 0 < self.start < 1 or not 0 < self.until < 1 or self.multiple < 1:
            raise ValueError(
                "start and until must be above 0 and below 1 and multiple at least 1, got "
                f"{self.start:g}, {self.until:g} and {self.multiple}"
            )

    def shape_after(self, shape: Shape) -> Shape:
        return shape

    def at(self, progress: float) -> Scale:
        """Return the resizing at ``progress`` 0 <= p < 1 of the training."""
        return Scale(min(1.0, self.start + (1 - self.start) * progress / self.until), self.multiple)


@dataclass(frozen=True)
class Scale:
    """Resize to a ``share`` of the size, rounded to a ``multiple``; a share of 1 changes nothing."""

    share: float
    multiple: int

    def shape_after(self, shape: Shape) -> Shape:
        channels, *size = shape
        if self.share == 1:
            return shape
        height, width = (round(self.share * side / self.multiple) * self.multiple for side in size)
        if not 0 < height <= size[0] or not 0 < width <= size[1]:
            raise ValueError(
                f"start must leave at least {self.multiple} pixels and multiple must fit into the image, got "
                f"{height} x {width} pixels of {size[0]} x {size[1]}. Raise start, or lower multiple."
            )
        return channels, height, width

    def __call__(self, images: Tensor, draws: Draws) -> Tensor:
        shape = self.shape_after((images.shape[1], images.shape[2], images.shape[3]))
        if shape[1:] == images.shape[2:]:
            return images
        resized: Tensor = functional.resize(images, list(shape[1:]))
        return resized
