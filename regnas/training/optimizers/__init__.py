"""Optimizers that a recipe can name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from regnas.components.registry import Registry
from regnas.training.optimizers.adamw import AdamW
from regnas.training.optimizers.model_optimizer import ModelOptimizer
from regnas.training.optimizers.muon import Muon
from regnas.training.optimizers.parameters import Decayed, TrainedParameter, trained_parameters
from regnas.training.optimizers.sgd import StochasticGradientDescent


class Optimizer(Protocol):
    """Builds the torch optimizers of a network.

    The learning rate is that of the schedule, times ``learning_rate_factor`` of each group of ``torch_groups``.
    """

    def check(self, learning_rate: float, momentum: float) -> None:
        """Raise a ``ValueError`` for keys of the recipe that do not fit."""
        ...

    def build(self, parameters: Sequence[TrainedParameter], momentum: float) -> list[torch.optim.Optimizer]: ...


OPTIMIZERS: Registry[type[Optimizer]] = Registry(
    "optimizer", "regnas.optimizers", {"sgd": StochasticGradientDescent, "adamw": AdamW, "muon": Muon}
)

__all__ = [
    "OPTIMIZERS",
    "AdamW",
    "Decayed",
    "ModelOptimizer",
    "Muon",
    "Optimizer",
    "StochasticGradientDescent",
    "TrainedParameter",
    "trained_parameters",
]
