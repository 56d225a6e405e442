"""Averages of the weights along a training; they replace the weights at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor, nn

from regnas.components.registry import Registry


class Averaging(Protocol):
    """Moves averages of the parameters, by name, after each step; they start as the parameters."""

    @property
    def keeps(self) -> bool:
        """Whether there are averages."""
        ...

    def check(self, steps: int) -> None:
        """Raise a ``ValueError`` for a training of this many steps, at least 1, that is too short."""
        ...

    def update(self, averages: Mapping[str, Tensor], model: nn.Module, steps: int, progress: float) -> None:
        """Move the averages after this many ``steps``; may also move the parameters."""
        ...


@dataclass(frozen=True)
class NoAveraging:
    """The weights of the last step."""

    keeps: ClassVar[bool] = False

    def check(self, steps: int) -> None:
        pass

    def update(self, averages: Mapping[str, Tensor], model: nn.Module, steps: int, progress: float) -> None:
        pass


@dataclass(frozen=True)
class MovingAverage:
    """average <- decay * average + (1 - decay) * weights after each step."""

    decay: float

    keeps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.decay < 1:
            raise ValueError(f"decay must be between 0 and 1, got {self.decay:g}")

    def check(self, steps: int) -> None:
        pass

    @torch.no_grad()
    def update(self, averages: Mapping[str, Tensor], model: nn.Module, steps: int, progress: float) -> None:
        for name, average in averages.items():
            average.lerp_(model.get_parameter(name), 1 - self.decay)


@dataclass(frozen=True)
class Lookahead:
    """After every few steps, average <- d * average + (1 - d) * weights, and continue from the average.

    d = ``decay`` * progress^``power``: it grows as the learning rate falls, as in airbench (Jordan, 2024). With power 0
    and decay 0.5 it is constant, as by Zhang et al. (NeurIPS 2019).
    """

    every: int = 5
    decay: float = 0.77
    power: float = 3.0

    keeps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.every < 1 or not 0 < self.decay < 1 or self.power < 0:
            raise ValueError(
                f"every must be at least 1, decay between 0 and 1, and power at least 0, got {self.every}, "
                f"{self.decay:g} and {self.power:g}"
            )

    def check(self, steps: int) -> None:
        if steps < self.every:
            raise ValueError(
                f"averaging.every must be at most the {steps} steps of the training, got {self.every}. Lower it, or "
                "raise epochs."
            )

    @torch.no_grad()
    def update(self, averages: Mapping[str, Tensor], model: nn.Module, steps: int, progress: float) -> None:
        if steps % self.every:
            return
        for name, average in averages.items():
            weights = model.get_parameter(name)
            average.lerp_(weights, 1 - self.decay * progress**self.power)
            weights.copy_(average)


AVERAGINGS: Registry[type[Averaging]] = Registry(
    "averaging",
    "regnas.averagings",
    {"none": NoAveraging, "moving_average": MovingAverage, "lookahead": Lookahead},
)
