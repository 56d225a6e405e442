"""The torch optimizers of a model as one, with their state by the names of the parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

States = dict[str, dict[str, Tensor]]  # by the name of the state, such as "exp_avg", and of the parameter


class ModelOptimizer:
    """The optimizers that together train the parameters of a model."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        self.optimizers = tuple(optimizers)

    def unscale(self, scaler: torch.amp.GradScaler) -> None:
        """Divide the gradients by the factor of the loss."""
        for optimizer in self.optimizers:
            scaler.unscale_(optimizer)

    def step(self, learning_rate: float, scaler: torch.amp.GradScaler) -> None:
        """Move the parameters at this learning rate, times the factor of their group.

        A scaler that is enabled skips steps whose gradients are not finite.
        """
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate * group["learning_rate_factor"]
            scaler.step(optimizer)

    def states(self) -> States:
        """Return the state of all parameters; those without one have had no gradient."""
        found: States = {}
        for optimizer in self.optimizers:
            for name, parameter in _named(optimizer):
                for key, value in optimizer.state.get(parameter, {}).items():
                    if isinstance(value, Tensor):
                        found.setdefault(key, {})[name] = value
        return found

    def load(self, states: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Continue from the result of ``states``."""
        for optimizer in self.optimizers:
            table = {
                index: {key: _like(parameter, named[name]) for key, named in states.items() if name in named}
                for index, (name, parameter) in enumerate(_named(optimizer))
            }
            groups = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict(
                {"state": {index: own for index, own in table.items() if own}, "param_groups": groups}
            )


def _named(optimizer: torch.optim.Optimizer) -> Iterator[tuple[str, nn.Parameter]]:
    """Return the names and parameters in torch's order."""
    for group in optimizer.param_groups:
        yield from zip(group["names"], group["params"], strict=True)


def _like(parameter: nn.Parameter, value: Tensor) -> Any:
    """Return a copy with the layout of the parameter, which determines the order of sums; counters have none."""
    return torch.empty_like(parameter).copy_(value) if value.shape == parameter.shape else value.clone()
