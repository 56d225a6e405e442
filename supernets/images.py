"""Check the images of a search space: channels, and the sizes to which they can be resized."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

InputShape = tuple[int, int, int]


def require_color(name: str, input_shape: InputShape) -> None:
    """Raise ``ValueError`` for images that do not have three channels."""
    if input_shape[0] != 3:
        raise ValueError(f"{name}: images must have 3 channels (color), got {input_shape[0]}")


def check_resolutions(resolutions: tuple[int, ...]) -> None:
    """Raise ``ValueError`` for resolutions that are not positive and different."""
    if any(size < 1 for size in resolutions) or len(set(resolutions)) < len(resolutions):
        raise ValueError(f"resolutions must be positive and different, got {list(resolutions)}")


def usable_resolutions(resolutions: tuple[int, ...], input_shape: InputShape) -> tuple[int | None, ...]:
    """Return the resolutions of a space on these images; without any, images are not resized."""
    _, height, width = input_shape
    if not resolutions:
        return (None,)
    if height != width:
        raise ValueError(f"resolutions: images must be square, got {height} x {width}")
    if max(resolutions) > height:
        raise ValueError(f"resolutions must be at most the size of the images ({height}), got {max(resolutions)}")
    return tuple(sorted(resolutions))


class Resize(nn.Module):
    """Resize images to ``size`` x ``size`` pixels; None leaves them unchanged."""

    def __init__(self, size: int | None) -> None:
        super().__init__()
        self.size = size

    def forward(self, images: Tensor) -> Tensor:
        return resize(images, self.size)

    def extra_repr(self) -> str:
        return str(self.size)


def resize(images: Tensor, size: int | None) -> Tensor:
    """Return the images with ``size`` x ``size`` pixels; None leaves them unchanged."""
    if size is None or images.shape[-2:] == (size, size):
        return images
    return F.interpolate(images, (size, size), mode="bilinear", align_corners=False, antialias=True)
