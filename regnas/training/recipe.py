"""The training recipe, the same for the supernet and for everything it is compared with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from regnas.components.builder import IS_SHORT
from regnas.components.registry import Registry
from regnas.errors import ConfigurationError
from regnas.runtime.processes import SINGLE, Processes
from regnas.training.averaging import AVERAGINGS, Averaging, MovingAverage, NoAveraging
from regnas.training.clipping import ClipNorm
from regnas.training.cropping import random_boxes, resized_crops
from regnas.training.initialization import INITIALIZATIONS, Initialization
from regnas.training.learning_rates import LEARNING_RATE_SCHEDULES, LearningRateSchedule, OneCycle
from regnas.training.optimizers import (
    OPTIMIZERS,
    Decayed,
    ModelOptimizer,
    Optimizer,
    StochasticGradientDescent,
    TrainedParameter,
    trained_parameters,
)

# The tables of the parts that a recipe names.
RECIPE_PARTS: dict[Any, Registry[Any]] = {
    Optimizer: OPTIMIZERS,
    LearningRateSchedule: LEARNING_RATE_SCHEDULES,
    Averaging: AVERAGINGS,
    Initialization: INITIALIZATIONS,
}


@dataclass(frozen=True)
class Augmentation:
    """Random crops, mirroring and shifts, drawn for every sample and epoch.

    ``crop`` = "random_resized" takes 8 to 100 % of the area at ratios of 3 : 4 to 4 : 3 and resizes it to the size of
    the image. ``shift`` is the maximum shift in pixels; the margin is filled with zeros.
    """

    shift: int = 0
    flip: bool = False
    crop: Literal["none", "random_resized"] = field(default="none", metadata={"content": "unless default"})

    def __call__(self, images: Tensor, random: np.random.Generator, processes: Processes = SINGLE) -> Tensor:
        """Augment the images; each of several processes draws for its samples what a single process would."""
        count, _, height, width = images.shape
        batch, own = count * processes.count, processes.share
        if self.crop == "random_resized":
            images = resized_crops(images, random_boxes(random, batch, height, width)[:, own])
        if self.flip:
            mirrored = torch.from_numpy(np.flatnonzero(random.random(batch)[own] < 0.5)).to(images.device)
            images = images.index_copy(0, mirrored, images[mirrored].flip(3))
        if self.shift:
            offsets = torch.from_numpy(random.integers(0, 2 * self.shift + 1, (2, batch))[:, own]).to(images.device)
            padded = torch.nn.functional.pad(images, (self.shift,) * 4)
            windows = padded.unfold(2, height, 1).unfold(3, width, 1)  # [N, C, 2 shift + 1, 2 shift + 1, H, W], a view
            images = windows[torch.arange(count, device=images.device), :, offsets[0], offsets[1]]  # [N, C, H, W]
        return images


@dataclass(frozen=True)
class Recipe:
    """The optimizer and its learning rate, which follows a schedule over all steps.

    ``learning_rate`` is the highest one of the schedule; with ``momentum`` and ``weight_decay`` it stands beside the
    optimizer, because every optimizer has them, and because schedules, polishing and ties to older weights use them.
    ``optimizer`` has the keys of one optimizer alone.

    With 0 epochs a network does not change; this is allowed only if a configuration starts from trained weights.
    ``accumulation`` is the number of parts per batch, with one backward pass per part and one optimizer step: the
    gradient of the mean over the whole batch, in the memory of a part. Batch norms use the statistics of one part at a
    time. ``compile`` applies torch.compile to networks that are trained alone.
    """

    epochs: int = 12
    batch_size: int = 64
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    schedule: LearningRateSchedule = field(default=OneCycle(), metadata=IS_SHORT)
    clip_norm: ClipNorm = 5.0
    ema_decay: float = 0.0
    augmentation: Augmentation = field(default_factory=Augmentation)
    # These fields change the bits of a network (compile changes the order of sums). Networks that were kept before the
    # fields existed are those of the defaults. Precision auto: bfloat16 on CUDA, float32 elsewhere.
    precision: Literal["auto", "float32", "bfloat16"] = field(default="auto", metadata={"content": "unless default"})
    accumulation: int = field(default=1, metadata={"content": "unless default"})
    compile: bool = field(default=False, metadata={"content": "unless default"})
    optimizer: Optimizer = field(
        default=StochasticGradientDescent(), metadata={"content": "unless default", **IS_SHORT}
    )
    weight_decay_on: Decayed = field(default="all", metadata={"content": "unless default"})
    averaging: Averaging = field(default=NoAveraging(), metadata={"content": "unless default", **IS_SHORT})
    initialization: tuple[Initialization, ...] = field(default=(), metadata={"content": "unless default", **IS_SHORT})
    learning_rate_factors: dict[str, float] = field(default_factory=dict, metadata={"content": "unless default"})

    def __post_init__(self) -> None:
        if self.epochs < 0 or self.batch_size < 2:
            raise ValueError("epochs must be at least 0 and batch_size at least 2")
        if self.learning_rate <= 0 or self.clip_norm <= 0:
            raise ValueError("learning_rate and clip_norm must be positive")
        if not 0 <= self.ema_decay < 1 or not 0 <= self.momentum < 1:
            raise ValueError("ema_decay and momentum must be at least 0 and below 1")
        if self.accumulation < 1 or self.batch_size % self.accumulation:
            raise ValueError(
                f"accumulation must be at least 1 and divide batch_size, got batch_size {self.batch_size} and "
                f"accumulation {self.accumulation}"
            )
        if not all(0 <= factor < math.inf for factor in self.learning_rate_factors.values()):
            raise ValueError(f"learning_rate_factors must be at least 0, got {self.learning_rate_factors}")
        if self.ema_decay and self.averaging.keeps:
            raise ValueError("ema_decay must be 0 if averaging is set, got both. Remove one of them.")
        if self.epochs:
            self.schedule.check(self.epochs)
        self.optimizer.check(self.learning_rate, self.momentum)

    def over(self, processes: int) -> Recipe:
        """Return the recipe of a step of several processes, with ``batch_size`` images each."""
        return replace(self, batch_size=processes * self.batch_size)

    def one_after_another(self, processes: int) -> Recipe:
        """Return the recipe of the same steps in one process: the images of each process become parts of a batch."""
        return replace(self.over(processes), accumulation=processes * self.accumulation)

    def is_mixed_on(self, device: torch.device) -> bool:
        """Return whether products run in bfloat16; weights, sums and losses stay in float32."""
        return self.precision == "bfloat16" or (self.precision == "auto" and device.type == "cuda")

    @property
    def weight_averaging(self) -> Averaging:
        """The averaging; ``ema_decay`` is short for a moving average."""
        return MovingAverage(self.ema_decay) if self.ema_decay else self.averaging

    @property
    def names_layers(self) -> bool:
        """Whether not every network has the layers that the recipe needs."""
        return bool(self.initialization or self.learning_rate_factors)

    def check_network(self, network: nn.Module) -> None:
        """Refuse a network without the layers that ``learning_rate_factors`` and ``initialization`` need."""
        self._parameters_of(network)
        try:
            for each in self.initialization:
                each.check(network)
        except ValueError as error:
            raise ConfigurationError(f"training: {error}") from None

    def optimizer_of(self, model: nn.Module) -> ModelOptimizer:
        """Return the optimizer of a model; refuse ``learning_rate_factors`` of layers that it does not have."""
        return ModelOptimizer(self.optimizer.build(self._parameters_of(model), self.momentum))

    def _parameters_of(self, model: nn.Module) -> list[TrainedParameter]:
        return trained_parameters(model, self.weight_decay, self.weight_decay_on, self.learning_rate_factors)

    def learning_rate_at(self, progress: float) -> float:
        """Return the learning rate at ``progress`` 0 <= p < 1 of the training."""
        return self.learning_rate * self.schedule.factor(progress, self.epochs)
