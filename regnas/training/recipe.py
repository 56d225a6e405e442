"""The training recipe, the same for the supernet and for everything it is compared with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from torch import nn

from regnas.augmentations import AUGMENTATIONS, Augmentation, Mixing, Pipeline, Shape, mixings_of, shapes_over
from regnas.components.builder import IS_SHORT
from regnas.components.registry import Registry
from regnas.errors import ConfigurationError
from regnas.losses import CrossEntropy
from regnas.runtime.randomness import Key
from regnas.training.averaging import AVERAGINGS, Averaging, MovingAverage, NoAveraging
from regnas.training.clipping import ClipNorm
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
from regnas.training.precision import Precision

# The tables of the parts that a recipe names.
RECIPE_PARTS: dict[Any, Registry[Any]] = {
    Augmentation: AUGMENTATIONS,
    Optimizer: OPTIMIZERS,
    LearningRateSchedule: LEARNING_RATE_SCHEDULES,
    Averaging: AVERAGINGS,
    Initialization: INITIALIZATIONS,
}

# Networks that were trained without augmentation keep their digest, in which there was always a table.
FORMER_AUGMENTATION = {
    "content_name": "augmentation",
    "content_of_default": {"Augmentation": {"shift": 0, "flip": False}},
}


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
    augmentations: tuple[Augmentation, ...] = field(default=(), metadata=FORMER_AUGMENTATION)
    # These fields change the bits of a network (compile changes the order of sums). Networks that were kept before the
    # fields existed are those of the defaults. Precision auto: bfloat16 on CUDA, float32 elsewhere.
    precision: Precision = field(default="auto", metadata={"content": "unless default"})
    accumulation: int = field(default=1, metadata={"content": "unless default"})
    compile: bool = field(default=False, metadata={"content": "unless default"})
    optimizer: Optimizer = field(
        default=StochasticGradientDescent(), metadata={"content": "unless default", **IS_SHORT}
    )
    weight_decay_on: Decayed = field(default="all", metadata={"content": "unless default"})
    averaging: Averaging = field(default=NoAveraging(), metadata={"content": "unless default", **IS_SHORT})
    initialization: tuple[Initialization, ...] = field(default=(), metadata={"content": "unless default", **IS_SHORT})
    learning_rate_factors: dict[str, float] = field(default_factory=dict, metadata={"content": "unless default"})
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
        if not all(0 <= factor < math.inf for factor in self.learning_rate_factors.values()):
            raise ValueError(f"learning_rate_factors must be at least 0, got {self.learning_rate_factors}")
        if self.ema_decay and self.averaging.keeps:
            raise ValueError("ema_decay must be 0 if averaging is set, got both. Remove one of them.")
        if self.epochs:
            self.schedule.check(self.epochs)
        self.optimizer.check(self.learning_rate, self.momentum)
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
