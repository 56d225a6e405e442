"""From stored pixels to the input of a network."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from regnas.data.streaming import Images, batches_of
from regnas.errors import ArtifactError, DataError
from regnas.runtime.progress import track

GRAY_LEVELS = 256
# One gray level: a channel that varies less is constant, and dividing by its deviation would only amplify noise.
SMALLEST_STD = 1 / 255
CHUNK = 512
MOST_DECODED = 4096


@dataclass(frozen=True)
class Preprocessing:
    """Normalization of each channel: (x / 255 - mean) / std, with x a stored byte.

    Example:
        >>> Preprocessing(mean=(0.5,), std=(0.25,))(torch.tensor([[[[0, 255]]]], dtype=torch.uint8)).tolist()
        [[[[-2.0, 2.0]]]]
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    # How image files become squares; None: as the papers do if the statistics are those of ImageNet, and else "fit".
    transform: Literal["fit", "imagenet"] | None = field(default=None, metadata={"content": "unless default"})

    def __post_init__(self) -> None:
        if not self.mean or len(self.mean) != len(self.std):
            raise ValueError(f"mean and std must have one value per channel, got {len(self.mean)} and {len(self.std)}")
        if not all(math.isfinite(value) for value in self.mean + self.std) or min(self.std) <= 0:
            raise ValueError(f"mean and std must be finite and std above 0, got {self.mean} and {self.std}")

    def __call__(self, images: Tensor) -> Tensor:
        """Normalize images [N, C, H, W] in one fused multiply-add.

        Args:
            images: uint8, or floats from 0 to 1, which are multiplied by 255 first. Anything else is refused.

        Returns:
            float32 [N, C, H, W].
        """
        self._check(images)
        white = 1 if images.is_floating_point() else 255
        scale = [1 / (white * std) for std in self.std]
        shift = [-mean / std for mean, std in zip(self.mean, self.std, strict=True)]
        return torch.addcmul(_per_channel(shift, images), images.to(torch.float32), _per_channel(scale, images))

    def _check(self, images: Tensor) -> None:
        """Check shape and dtype of every batch, and values only of floats: a byte cannot be out of range."""
        if not isinstance(images, Tensor):
            raise DataError(f"images must be a tensor, got {type(images).__name__}. Convert with torch.from_numpy.")
        channels = len(self.mean)
        if images.ndim != 4 or images.shape[1] != channels:
            raise DataError(f"images must have the shape [N, {channels}, H, W], got {list(images.shape)}")
        if images.dtype == torch.uint8:
            return
        if not images.is_floating_point():
            raise DataError(f"images must be uint8, or floats from 0 to 1, got {images.dtype}")
        if not images.numel():
            return
        low, high = (bound.item() for bound in images.aminmax())
        if not (math.isfinite(low) and math.isfinite(high)):
            raise DataError("float images must be finite, got NaN or infinity")
        if low < 0 or high > 1:
            raise DataError(
                f"float images must be between 0 and 1, got {low:g} to {high:g}. Divide bytes by 255, or give them as "
                "uint8; do not normalize images before."
            )

    @classmethod
    def fitted_to(cls, images: Images) -> Preprocessing:
        """Measure the mean and standard deviation of each channel of uint8 images [N, C, H, W].

        Exact, from a histogram per channel: the sums are of integers and do not depend on order or threads. At most
        4,096 streamed images are read, always the same ones and spread evenly: image floor(i N / 4096) for
        i = 0, 1, ...
        """
        description = ""
        if not isinstance(images, Tensor):
            number = min(len(images), MOST_DECODED)
            images = images.part(np.arange(number) * len(images) // number)
            description = "measuring colors"
        channels = images.shape[1]
        counts = torch.zeros(channels, GRAY_LEVELS, dtype=torch.int64)
        for batch in track(batches_of(images, CHUNK), description, math.ceil(len(images) / CHUNK)):
            for channel in range(channels):
                counts[channel] += torch.bincount(batch[:, channel].reshape(-1), minlength=GRAY_LEVELS)
        levels = torch.arange(GRAY_LEVELS, dtype=torch.float64) / 255
        total = counts.sum(dim=1)  # [C]
        mean = (counts * levels).sum(dim=1) / total  # [C]
        variance = (counts * (levels - mean[:, None]) ** 2).sum(dim=1) / total  # [C]
        std = variance.sqrt().clamp(min=SMALLEST_STD)
        return cls(tuple(mean.tolist()), tuple(std.tolist()))

    def to_json(self) -> dict[str, Any]:
        content: dict[str, Any] = {"mean": list(self.mean), "std": list(self.std)}
        return content if self.transform is None else content | {"transform": self.transform}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Preprocessing:
        try:
            transform = value.get("transform")
            if transform not in (None, "fit", "imagenet"):
                raise ValueError(f"transform must be fit or imagenet, got {transform!r}")
            return cls(tuple(float(x) for x in value["mean"]), tuple(float(x) for x in value["std"]), transform)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"the preprocessing {value!r} cannot be used: {error}") from None


# Published ImageNet weights were trained with these values and must be evaluated with them.
IMAGENET = Preprocessing(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


def _per_channel(values: list[float], images: Tensor) -> Tensor:
    return torch.tensor(values, dtype=torch.float32, device=images.device).view(1, -1, 1, 1)
