"""How a network is trained: the same recipe for the supernet and for everything it is compared with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor

# One cycle rises for this part of the training from this part of the peak.
ONE_CYCLE_RISE = 0.3
ONE_CYCLE_START = 0.04


@dataclass(frozen=True)
class Augmentation:
    """Random shifts by up to ``shift`` pixels (zeros come in) and mirroring, drawn anew for every sample and epoch."""

    shift: int = 0
    flip: bool = False

    def __call__(self, images: Tensor, random: np.random.Generator) -> Tensor:
        count, _, height, width = images.shape
        if self.flip:
            mirrored = torch.from_numpy(np.flatnonzero(random.random(count) < 0.5)).to(images.device)
            images = images.index_copy(0, mirrored, images[mirrored].flip(3))
        if self.shift:
            offsets = torch.from_numpy(random.integers(0, 2 * self.shift + 1, (2, count))).to(images.device)
            padded = torch.nn.functional.pad(images, (self.shift,) * 4)
            windows = padded.unfold(2, height, 1).unfold(3, width, 1)  # [N, C, 2 shift + 1, 2 shift + 1, H, W], a view
            images = windows[torch.arange(count, device=images.device), :, offsets[0], offsets[1]]  # [N, C, H, W]
        return images


@dataclass(frozen=True)
class Recipe:
    """Stochastic gradient descent with momentum; the learning rate follows a schedule over all steps.

    With 0 epochs a network stays what it is; only a configuration that starts from trained weights allows it.
    """

    epochs: int = 12
    batch_size: int = 64
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    schedule: Literal["cosine", "one_cycle"] = "one_cycle"
    clip_norm: float = 5.0
    ema_decay: float = 0.0
    precision: Literal["auto", "float32", "bfloat16"] = "auto"  # auto: bfloat16 on CUDA, float32 elsewhere
    augmentation: Augmentation = field(default_factory=Augmentation)

    def __post_init__(self) -> None:
        if self.epochs < 0 or self.batch_size < 2:
            raise ValueError("epochs must be at least 0 and batch_size at least 2")
        if self.learning_rate <= 0 or self.clip_norm <= 0:
            raise ValueError("learning_rate and clip_norm must be positive")
        if not 0 <= self.ema_decay < 1 or not 0 <= self.momentum < 1:
            raise ValueError("ema_decay and momentum must be at least 0 and below 1")

    def is_mixed_on(self, device: torch.device) -> bool:
        """Whether products run in bfloat16; weights, sums and losses stay in float32."""
        return self.precision == "bfloat16" or (self.precision == "auto" and device.type == "cuda")

    def learning_rate_at(self, progress: float) -> float:
        """At ``progress`` 0 <= p < 1 of the training."""
        if self.schedule == "cosine":
            return self.learning_rate * _falling(progress)
        if progress < ONE_CYCLE_RISE:
            rise = 1 - _falling(progress / ONE_CYCLE_RISE)
            return self.learning_rate * (ONE_CYCLE_START + (1 - ONE_CYCLE_START) * rise)
        return self.learning_rate * _falling((progress - ONE_CYCLE_RISE) / (1 - ONE_CYCLE_RISE))


def _falling(progress: float) -> float:
    """Half a cosine from 1 to 0."""
    return 0.5 * (1 + math.cos(math.pi * progress))
