"""From stored bytes to what a network reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regnas.data.streaming import Images, batches_of
from regnas.errors import ArtifactError
from regnas.runtime.progress import track

GRAY_LEVELS = 256
# One gray level: a channel that varies less than that is constant, and dividing by its spread would only blow up noise.
SMALLEST_STD = 1 / 255
CHUNK = 512
MOST_DECODED = 4096


@dataclass(frozen=True)
class Preprocessing:
    """Normalization of each channel: (x / 255 - mean) / std, with x a stored byte."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.mean or len(self.mean) != len(self.std):
            raise ValueError(f"mean has {len(self.mean)} values and std {len(self.std)}: one of each for every channel")
        if not all(math.isfinite(value) for value in self.mean + self.std) or min(self.std) <= 0:
            raise ValueError(f"mean {self.mean} and std {self.std} have to be finite, and std above 0")

    def __call__(self, images: Tensor) -> Tensor:
        """[N, C, H, W] uint8 -> [N, C, H, W] float32, in one fused multiply-add."""
        scale = [1 / (255 * std) for std in self.std]
        shift = [-mean / std for mean, std in zip(self.mean, self.std, strict=True)]
        return torch.addcmul(_per_channel(shift, images), images.to(torch.float32), _per_channel(scale, images))

    @classmethod
    def fitted_to(cls, images: Images) -> Preprocessing:
        """The mean and standard deviation of each channel of uint8 images [N, C, H, W].

        Exact, from a histogram of each channel: the sums are of integers and do not depend on order or threads. Of
        streamed images at most 4,096 are looked at, always the same ones and spread evenly: image
        floor(i N / 4096) for i = 0, 1, ...
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

    def to_json(self) -> dict[str, list[float]]:
        return {"mean": list(self.mean), "std": list(self.std)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Preprocessing:
        try:
            return cls(tuple(float(x) for x in value["mean"]), tuple(float(x) for x in value["std"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"the preprocessing {value!r} cannot be used: {error}") from None


# What published ImageNet weights were trained with, and what they have to be evaluated with.
IMAGENET = Preprocessing(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


def _per_channel(values: list[float], images: Tensor) -> Tensor:
    return torch.tensor(values, dtype=torch.float32, device=images.device).view(1, -1, 1, 1)
