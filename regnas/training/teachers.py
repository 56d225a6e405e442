"""Which sub-network of a step teaches which."""

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
    """What a teacher may ask: everything is detached, from the largest sub-network to the smallest, each [N, C]."""

    logits: Sequence[Tensor]
    averaged: Answer  # of the moving average of the supernet's weights
    ensemble: Answer  # mean over the supernets that were trained before


class Teacher(Protocol):
    @property
    def passes(self) -> int:
        """How many passes through the networks of a step it takes, beyond the step's own."""
        ...

    def references(self, of: StepAnswers) -> Sequence[Tensor | None]:
        """For each sub-network the logits that teach it; None for those that this teacher does not teach."""
        ...


@dataclass(frozen=True)
class Largest:
    """In-place distillation: the largest sub-network of the step teaches the others."""

    passes = 0

    def references(self, of: StepAnswers) -> Sequence[Tensor | None]:
        return [None, *[of.logits[0]] * (len(of.logits) - 1)]


@dataclass(frozen=True)
class Smaller:
    """Each sub-network learns from the next smaller one; a focal loss counts what that one predicts correctly."""

    passes = 0

    def references(self, of: StepAnswers) -> Sequence[Tensor | None]:
        return [*of.logits[1:], None]


@dataclass(frozen=True)
class Mean:
    """The mean logits of the step's own sub-networks teach all of them: an ensemble that costs nothing."""

    passes = 0

    def references(self, of: StepAnswers) -> Sequence[Tensor | None]:
        return [mean_logits(of.logits)] * len(of.logits)


@dataclass(frozen=True)
class MovingAverage:
    """The moving average of the supernet's own weights (``training.ema_decay``) teaches each at its architecture."""

    passes = 1

    def references(self, of: StepAnswers) -> Sequence[Tensor | None]:
        return of.averaged()


@dataclass(frozen=True)
class EnsembleOfSupernets:
    """ELODI for a supernet: ``members`` supernets, trained before, teach each sub-network by their mean logits."""

    members: int = 4

    def __post_init__(self) -> None:
        if self.members < 1:
            raise ValueError(f"members is {self.members}: an ensemble has at least 1")

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
