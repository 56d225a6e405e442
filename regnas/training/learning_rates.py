"""Schedules of the learning rate: the progress of a training, 0 <= p < 1, to a factor of the learning rate."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

from regnas.components.registry import Registry
from regnas.training.moments import Moment, share_at

WARM_UP_START = 0.01  # of the learning rate, at the first step of a linear warm-up
THIRDS = (1 / 3, 2 / 3)


class LearningRateSchedule(Protocol):
    def check(self, epochs: int) -> None:
        """Raise a ``ValueError`` if the schedule is longer than a training of this many epochs, at least 1."""
        ...

    def factor(self, progress: float, epochs: int) -> float: ...


@dataclass(frozen=True)
class OneCycle:
    """Half a cosine up, then half a cosine down to 0 (after Smith and Topin, 2018).

    It rises until ``warm_up``, from the fraction ``start`` of the learning rate.
    """

    content_of_default: ClassVar[str] = "one_cycle"
    warm_up: Moment = "30 %"
    start: float = 0.04

    def __post_init__(self) -> None:
        if not 0 <= self.start <= 1:
            raise ValueError(f"start must be between 0 and 1, got {self.start:g}")

    def check(self, epochs: int) -> None:
        _check_warm_up(self.warm_up, epochs)

    def factor(self, progress: float, epochs: int) -> float:
        top = share_at(self.warm_up, epochs)
        if progress < top:
            return self.start + (1 - self.start) * (1 - _falling(progress / top))
        return _falling((progress - top) / (1 - top))


@dataclass(frozen=True)
class Cosine:
    """Linear up until ``warm_up``, then half a cosine down to 0 (Loshchilov and Hutter, ICLR 2017)."""

    content_of_default: ClassVar[str] = "cosine"
    warm_up: Moment = 0

    def check(self, epochs: int) -> None:
        _check_warm_up(self.warm_up, epochs)

    def factor(self, progress: float, epochs: int) -> float:
        top = share_at(self.warm_up, epochs)
        return _rising(progress / top) if progress < top else _falling((progress - top) / (1 - top))


@dataclass(frozen=True)
class Steps:
    """Multiply the learning rate by ``decay`` at each of the ``milestones``, by default after each third."""

    content_of_default: ClassVar[str] = "step"
    milestones: tuple[Moment, ...] = ()
    decay: float = 0.1
    warm_up: Moment = 0

    def __post_init__(self) -> None:
        if not 0 < self.decay < 1:
            raise ValueError(f"decay must be between 0 and 1, got {self.decay:g}")

    def check(self, epochs: int) -> None:
        _check_warm_up(self.warm_up, epochs)
        shares = self._shares(epochs)
        if any(share >= 1 for share in shares):
            raise ValueError(
                f"schedule.milestones must lie inside the training of {epochs} epochs, got "
                f"{', '.join(map(str, self.milestones))}. Lower them, or raise epochs."
            )
        if any(first >= second for first, second in itertools.pairwise(shares)) or 0 in shares:
            raise ValueError(
                f"schedule.milestones must be above 0 and rise, got {', '.join(map(str, self.milestones))}. Sort them."
            )

    def factor(self, progress: float, epochs: int) -> float:
        top = share_at(self.warm_up, epochs)
        if progress < top:
            return _rising(progress / top)
        passed = sum(progress >= share for share in self._shares(epochs))
        return float(self.decay**passed)

    def _shares(self, epochs: int) -> tuple[float, ...]:
        return tuple(share_at(each, epochs) for each in self.milestones) or THIRDS


@dataclass(frozen=True)
class Flat:
    """Linear up until ``warm_up``, then the same learning rate until the end."""

    warm_up: Moment = 0

    def check(self, epochs: int) -> None:
        _check_warm_up(self.warm_up, epochs)

    def factor(self, progress: float, epochs: int) -> float:
        top = share_at(self.warm_up, epochs)
        return _rising(progress / top) if progress < top else 1.0


LEARNING_RATE_SCHEDULES: Registry[type[LearningRateSchedule]] = Registry(
    "learning-rate schedule",
    "regnas.learning_rate_schedules",
    {"one_cycle": OneCycle, "cosine": Cosine, "step": Steps, "constant": Flat},
)


def _check_warm_up(warm_up: Moment, epochs: int) -> None:
    if share_at(warm_up, epochs) >= 1:
        raise ValueError(
            f"schedule.warm_up must be shorter than the training of {epochs} epochs, got {warm_up}. Lower it, or raise "
            "epochs."
        )


def _rising(progress: float) -> float:
    return WARM_UP_START + (1 - WARM_UP_START) * progress


def _falling(progress: float) -> float:
    """Return half a cosine, which falls from 1 to 0."""
    return 0.5 * (1 + math.cos(math.pi * progress))
