"""What a search space says about its images: channels, and the sizes to which they may be resized."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

InputShape = tuple[int, int, int]


def require_color(name: str, input_shape: InputShape) -> None:
    if input_shape[0] != 3:
        raise ValueError(f"{name} takes color images (3 channels), not {input_shape[0]}")


def check_resolutions(resolutions: tuple[int, ...]) -> None:
    if any(size < 1 for size in resolutions) or len(set(resolutions)) < len(resolutions):
        raise ValueError(f"resolutions must be positive and differ, not {list(resolutions)}")


def usable_resolutions(resolutions: tuple[int, ...], input_shape: InputShape) -> tuple[int | None, ...]:
    """Those of a space on these images; without any, the images are taken as they come."""
    _, height, width = input_shape
    if not resolutions:
        return (None,)
    if height != width:
        raise ValueError(f"resolutions are for square images, not {height} x {width}")
    if max(resolutions) > height:
        raise ValueError(f"resolution {max(resolutions)} is above the size of the images, {height}")
    return tuple(sorted(resolutions))


class Resize(nn.Module):
    """Images of ``size`` x ``size`` pixels; None leaves them as they are."""

    def __init__(self, size: int | None) -> None:
        super().__init__()
        self.size = size

    def forward(self, images: Tensor) -> Tensor:
        return resized(images, self.size)

    def extra_repr(self) -> str:
        return str(self.size)


def resized(images: Tensor, size: int | None) -> Tensor:
    if size is None or images.shape[-2:] == (size, size):
        return images
    return F.interpolate(images, (size, size), mode="bilinear", align_corners=False, antialias=True)
