"""The weight of a lesson over the training: ``progress`` in [0, 1) to a factor in [0, 1]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from regnas.components.registry import Registry


class Schedule(Protocol):
    def __call__(self, progress: float) -> float: ...

    @property
    def begin(self) -> float:
        """The fraction of the training before which the factor is 0."""
        ...


@dataclass(frozen=True)
class Constant:
    """The same weight from the first step to the last."""

    begin = 0.0

    def __call__(self, progress: float) -> float:
        return 1.0


@dataclass(frozen=True)
class Ramp:
    """Zero before ``start``, then linear up to the full weight at ``full``; both are fractions of the training."""

    start: float = 0.25
    full: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.full <= 1:
            raise ValueError("start and full must be fractions of the training with 0 <= start <= full <= 1")

    @property
    def begin(self) -> float:
        return self.start

    def __call__(self, progress: float) -> float:
        if progress < self.start:
            return 0.0
        return min(1.0, (progress - self.start) / max(self.full - self.start, 1e-9))


@dataclass(frozen=True)
class HalfCosine:
    """From zero at ``start`` along half a cosine to the full weight at the end, while the learning rate falls."""

    start: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.start < 1:
            raise ValueError("start must be a fraction of the training with 0 <= start < 1")

    @property
    def begin(self) -> float:
        return self.start

    def __call__(self, progress: float) -> float:
        if progress < self.start:
            return 0.0
        return 0.5 * (1 - math.cos(math.pi * (progress - self.start) / (1 - self.start)))


SCHEDULES: Registry[type[Schedule]] = Registry(
    "schedule", "regnas.schedules", {"constant": Constant, "ramp": Ramp, "half_cosine": HalfCosine}
)
