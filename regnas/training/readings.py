"""What the steps of a training measure, and when the host reads it.

Reading a value waits until the device has computed it, and the device then waits for the host to send the next step.
Therefore values stay on the device and are read together, at intervals and before every checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from regnas.training.distributed import SIGNALS

INTERVAL = 20  # steps between two readings, on a device that works while the host continues


@dataclass(frozen=True)
class Reading:
    """The loss of a step and the norm of its gradient, in all processes the same."""

    index: int
    progress: float
    norm: float
    loss: float
    asked: int = 0  # the signal to stop that one of several processes has received, or 0

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.loss) and math.isfinite(self.norm)


@dataclass
class Readings:
    """Steps whose values have not been read.

    Args:
        interval: the number of steps after which values are read.
    """

    interval: int
    _steps: list[tuple[int, float]] = field(default_factory=list)  # index and progress
    _values: list[Tensor] = field(default_factory=list)

    @classmethod
    def on(cls, device: torch.device) -> Readings:
        """Read after every step on the CPU, where no value has to be waited for."""
        return cls(1 if device.type == "cpu" else INTERVAL)

    @property
    def are_due(self) -> bool:
        return len(self._steps) >= self.interval

    def add(self, index: int, progress: float, values: Tensor) -> None:
        """Keep the norm, the loss and, of several processes, how many have received each of ``SIGNALS``."""
        self._steps.append((index, progress))
        self._values.append(values)

    def take(self) -> list[Reading]:
        """Read all values, in the order of the steps."""
        rows = torch.stack(self._values).tolist() if self._values else []
        taken = [
            Reading(index, progress, norm, loss, _signal(received))
            for (index, progress), (norm, loss, *received) in zip(self._steps, rows, strict=True)
        ]
        self._steps.clear()
        self._values.clear()
        return taken


def _signal(received: Sequence[float]) -> int:
    return next((int(number) for number, times in zip(SIGNALS, received, strict=False) if times), 0)
