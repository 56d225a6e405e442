"""Teachers of the sub-networks of a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from regnas.components.registry import Registry

Answer = Callable[[], list[Tensor]]  # logits of other weights, at the architectures of the step


@dataclass(frozen=True)
class StepAnswers:
    """The inputs of a teacher: detached logits [N, C], from the largest sub-network to the smallest."""

    logits: Sequence[Tensor]
    averaged: Answer  # from the moving average of the supernet's weights
    ensemble: Answer  # mean over supernets that were trained before


class Teacher(Protocol):
    @property
    def passes(self) -> int:
        """The number of extra forward passes through the networks of a step."""
        ...

    def references(self, of: StepAnswers) -> Sequence[Tensor | None]:
        """Return the target logits per sub-network; None for those that this teacher does not teach."""
        ...


@dataclass(frozen=True)
class Largest:
    """In-place distillation: the largest sub-network of the step teaches the others."""

    passes = 0

    def references(self, of: StepAnswers) -> Sequence[Tensor | None]:
        return [None, *[of.logits[0]] * (len(of.logits) - 1)]


@dataclass(frozen=True)
class Smaller:
    """The next smaller sub-network teaches each one; a focal loss stresses samples that the smaller one gets right."""

    passes = 0

    def references(self, of: StepAnswers) -> Sequence[Tensor | None]:
        return [*of.logits[1:], None]


@dataclass(frozen=True)
class Mean:
    """The mean logits of the step's own sub-networks teach all of them: an ensemble at no extra cost."""

    passes = 0

    def references(self, of: StepAnswers) -> Sequence[Tensor | None]:
        return [mean_logits(of.logits)] * len(of.logits)


@dataclass(frozen=True)
class MovingAverage:
    """The moving average of the supernet's weights (``training.ema_decay``), at each sub-network's architecture."""

    passes = 1

    def references(self, of: StepAnswers) -> Sequence[Tensor | None]:
        return of.averaged()


@dataclass(frozen=True)
class EnsembleOfSupernets:
    """ELODI for a supernet: the mean logits of ``members`` supernets, trained before, teach each sub-network."""

    members: int = 4

    def __post_init__(self) -> None:
        if self.members < 1:
            raise ValueError(f"members must be at least 1, got {self.members}")

    @property
    def passes(self) -> int:
        return self.members

    def references(self, of: StepAnswers) -> Sequence[Tensor | None]:
        return of.ensemble()


TEACHERS: Registry[type[Teacher]] = Registry(
    "teacher",
    "regnas.teachers",
    {
        "largest": Largest,
        "smaller": Smaller,
        "mean": Mean,
        "moving_average": MovingAverage,
        "ensemble": EnsembleOfSupernets,
    },
)


def mean_logits(logits: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(logits)).mean(dim=0)  # [M, N, C] -> [N, C]
