"""The training recipe, the same for the supernet and for everything it is compared with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import torch

from regnas.augmentations import Augmentation, Mixing, Pipeline, Shape, mixings_of, shapes_over
from regnas.errors import ConfigurationError
from regnas.losses import CrossEntropy
from regnas.runtime.randomness import Key

# One cycle rises for this fraction of the training, from this fraction of the peak.
ONE_CYCLE_RISE = 0.3
ONE_CYCLE_START = 0.04
# The schedule "step" has three steps of a third of the training, each at a tenth of the rate before.
STEPS = 3
STEP_FACTOR = 0.1

# Networks that were trained without augmentation keep their digest, in which there was always a table.
FORMER_AUGMENTATION = {
    "content_name": "augmentation",
    "content_of_default": {"Augmentation": {"shift": 0, "flip": False}},
}


@dataclass(frozen=True)
class Recipe:
    """Stochastic gradient descent with momentum; the learning rate follows a schedule over all steps.

    ``schedule``: "one_cycle" rises and falls, "cosine" falls, "step" falls to a tenth after each third of the training.

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
    schedule: Literal["cosine", "one_cycle", "step"] = "one_cycle"
    clip_norm: float = 5.0
    ema_decay: float = 0.0
    augmentations: tuple[Augmentation, ...] = field(default=(), metadata=FORMER_AUGMENTATION)
    # These fields change the bits of a network (compile changes the order of sums). Networks that were kept before the
    # fields existed are those of the defaults. Precision auto: bfloat16 on CUDA, float32 elsewhere.
    precision: Literal["auto", "float32", "bfloat16"] = field(default="auto", metadata={"content": "unless default"})
    accumulation: int = field(default=1, metadata={"content": "unless default"})
    compile: bool = field(default=False, metadata={"content": "unless default"})
    label_smoothing: float = field(default=0.0, metadata={"content": "unless default"})

    former_keys: ClassVar[dict[str, str]] = {
        "augmentation": 'Write augmentations = [{ name = "shift", pixels = 1 }, { name = "horizontal_flip" }].'
    }

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
        CrossEntropy(self.label_smoothing)  # refuses impossible values

    def over(self, processes: int) -> Recipe:
        """Return the recipe of a step of several processes, with ``batch_size`` images each."""
        return replace(self, batch_size=processes * self.batch_size)

    def one_after_another(self, processes: int) -> Recipe:
        """Return the recipe of the same steps in one process: the images of each process become parts of a batch."""
        return replace(self.over(processes), accumulation=processes * self.accumulation)

    @property
    def label_loss(self) -> CrossEntropy:
        """The loss of the labels."""
        return CrossEntropy(self.label_smoothing)

    @property
    def mixings(self) -> tuple[Mixing, ...]:
        """The augmentations that mix the images of a batch."""
        return mixings_of(self.augmentations)

    def pipeline(self, key: tuple[Key, ...]) -> Pipeline:
        """Return the augmentations of single images for the training with this key."""
        return Pipeline(self.augmentations, key, self.epochs)

    def image_shapes(self, shape: Shape, section: str = "training") -> list[Shape]:
        """Return the different shapes of the training images over the epochs; refuse augmentations that do not fit."""
        return shapes_over(self.augmentations, shape, self.epochs, f"{section}.augmentations")

    def check_labels(self, single_labels: str, section: str = "training") -> None:
        """Refuse mixed images if a part, which ``single_labels`` names, needs the labels of single images."""
        if self.mixings and single_labels:
            names = " and ".join(type(each).__name__.lower() for each in self.mixings)
            raise ConfigurationError(
                f"{section}.augmentations must not mix images, because {single_labels} needs the label of a single "
                f"image, got {names}. Remove {names}, or choose another loss or method."
            )

    def is_mixed_on(self, device: torch.device) -> bool:
        """Return whether products run in bfloat16; weights, sums and losses stay in float32."""
        return self.precision == "bfloat16" or (self.precision == "auto" and device.type == "cuda")

    def learning_rate_at(self, progress: float) -> float:
        """Return the learning rate at ``progress`` 0 <= p < 1 of the training."""
        if self.schedule == "cosine":
            return self.learning_rate * _falling(progress)
        if self.schedule == "step":
            return self.learning_rate * STEP_FACTOR ** int(STEPS * progress)
        if progress < ONE_CYCLE_RISE:
            rise = 1 - _falling(progress / ONE_CYCLE_RISE)
            return self.learning_rate * (ONE_CYCLE_START + (1 - ONE_CYCLE_START) * rise)
        return self.learning_rate * _falling((progress - ONE_CYCLE_RISE) / (1 - ONE_CYCLE_RISE))


def _falling(progress: float) -> float:
    """Return half a cosine, which falls from 1 to 0."""
    return 0.5 * (1 + math.cos(math.pi * progress))
