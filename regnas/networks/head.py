"""The linear classifier at the end of a network: finding it, reading its input, dropout before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from regnas.errors import ConfigurationError


def classifier_of(network: nn.Module, classes: int) -> nn.Linear:
    """Return the last linear layer, in module order, with as many outputs as there are classes."""
    found = [module for module in network.modules() if isinstance(module, nn.Linear) and module.out_features == classes]
    if not found:
        raise ConfigurationError(f"{type(network).__name__} of {classes} classes has no linear classifier")
    return found[-1]


@contextmanager
def captured_features(network: nn.Module, classes: int) -> Iterator[Callable[[], Tensor]]:
    """Yield a function that returns the classifier's input [N, D] of the last forward pass, with its graph.

    ``with captured_features(network, classes) as read: logits = network(images); features = read()``
    """
    last = _LastInput()
    handle = classifier_of(network, classes).register_forward_pre_hook(last)
    try:
        yield last.read
    finally:
        handle.remove()


def with_dropout(network: nn.Module, classes: int, probability: float) -> nn.Module:
    """Add dropout of the classifier's input during training, and return the network.

    Uses a hook instead of a layer, which would change the keys of the state dict.
    """
    if not 0 <= probability < 1:
        raise ValueError(f"the probability of dropout must be at least 0 and below 1, got {probability}")
    classifier_of(network, classes).register_forward_pre_hook(_Dropout(probability))
    return network


class _LastInput:
    """Keeps the last input of a module."""

    def __init__(self) -> None:
        self._features: Tensor | None = None

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self._features = inputs[0]

    def read(self) -> Tensor:
        if self._features is None:
            raise RuntimeError("no forward pass has reached the classifier")
        return self._features


@dataclass(frozen=True)
class _Dropout:
    """Dropout on a module's input. Defined at module level: a network with this hook can be copied and pickled."""

    probability: float

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return F.dropout(inputs[0], self.probability, training=module.training), *inputs[1:]
