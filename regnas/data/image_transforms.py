"""From a picture of any size to a square one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from PIL import Image, ImageOps

Transform = Literal["fit", "imagenet"]

CENTER = 0.875  # the share of the shorter side that the papers' evaluation on ImageNet uses
RESAMPLING = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}


@dataclass(frozen=True)
class Center:
    """The evaluation of published weights: the shorter side resized to ``shorter`` pixels, and the center crop.

    The same pixels as torchvision's Resize and CenterCrop: published weights reach their published accuracies. With
    ``squash``, both sides are resized to ``shorter`` pixels.
    """

    shorter: int
    interpolation: Literal["bilinear", "bicubic"]
    squash: bool = False

    def __call__(self, picture: Image.Image, size: int) -> Image.Image:
        shorter, longer = sorted(picture.size)
        resized_longer = self.shorter if self.squash else int(self.shorter * longer / shorter)
        # PIL checks the size of the file; a line of single pixels becomes huge only here.
        if Image.MAX_IMAGE_PIXELS is not None and self.shorter * resized_longer > Image.MAX_IMAGE_PIXELS:
            raise ValueError(f"too narrow at {picture.width} x {picture.height} pixels; crop it")
        portrait = picture.width < picture.height
        width, height = (self.shorter, resized_longer) if portrait else (resized_longer, self.shorter)
        left, top = round((width - size) / 2), round((height - size) / 2)
        # PIL resizes the columns, then the rows. To crop in between gives the same pixels with less work.
        columns = picture.resize((width, picture.height), RESAMPLING[self.interpolation])
        columns = columns.crop((left, 0, left + size, picture.height))
        return columns.resize((size, height), RESAMPLING[self.interpolation]).crop((0, top, size, top + size))


def fit(picture: Image.Image, size: int) -> Image.Image:
    """Return the largest square in the center, resized to ``size``."""
    return ImageOps.fit(picture, (size, size), Image.Resampling.BILINEAR)


def imagenet(picture: Image.Image, size: int) -> Image.Image:
    """Resize as the papers evaluate: the shorter side to ceil(size / 0.875), 256 for 224, and the center crop."""
    return Center(math.ceil(size / CENTER), "bilinear")(picture, size)


TRANSFORMS: Mapping[Transform, Callable[[Image.Image, int], Image.Image]] = {"fit": fit, "imagenet": imagenet}


def transformed(picture: Image.Image, transform: Transform | Center, size: int) -> Image.Image:
    return transform(picture, size) if isinstance(transform, Center) else TRANSFORMS[transform](picture, size)
