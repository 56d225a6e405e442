"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from regnas.training.optimizers.parameters import TrainedParameter, torch_groups


@dataclass(frozen=True)
class StochasticGradientDescent:
    """Stochastic gradient descent with momentum; ``nesterov`` looks one step ahead.

    v <- momentum * v + g + weight_decay * w, and w <- w - learning_rate * v; with ``nesterov``, the step is
    learning_rate * (g + weight_decay * w + momentum * v).
    """

    nesterov: bool = False

    def check(self, learning_rate: float, momentum: float) -> None:
        """Refuse settings that torch refuses."""
        if self.nesterov and not momentum:
            raise ValueError(
                "momentum must be above 0 for nesterov, got 0. Raise it, or set optimizer.nesterov = false."
            )

    def build(self, parameters: Sequence[TrainedParameter], momentum: float) -> list[torch.optim.Optimizer]:
        """Return the optimizer, fused on CUDA; on the CPU that would change the bits of the weights."""
        fused = parameters[0].parameter.device.type == "cuda"
        groups = torch_groups(parameters)
        return [torch.optim.SGD(groups, momentum=momentum, nesterov=self.nesterov, fused=fused or None)]
