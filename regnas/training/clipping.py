"""How many steps of a training were clipped.

A clipped step keeps its direction and loses its length, so that the weights of the losses no longer decide how far it
goes: a mixture that is clipped in most of its steps is not the mixture that was configured.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# The first steps of a network with random weights are large, whatever the losses. One rule for every schedule: the
# rise of one cycle is longer and ends at the largest learning rate, where clipping matters most.
WARM_UP = 0.05

log = logging.getLogger("regnas")


@dataclass(frozen=True)
class Clipping:
    """The steps after the warm-up, and those among them whose gradient norm exceeded ``clip_norm``."""

    clip_norm: float
    steps: int = 0
    clipped: int = 0

    @property
    def share(self) -> float:
        return self.clipped / self.steps if self.steps else 0.0

    def after(self, progress: float, norm: float) -> Clipping:
        """With one more step, at ``progress`` 0 <= p < 1 of the training; a step of the warm-up does not count."""
        if progress < WARM_UP:
            return self
        return Clipping(self.clip_norm, self.steps + 1, self.clipped + (norm > self.clip_norm))

    def to_json(self) -> dict[str, Any]:
        return {"clip_norm": self.clip_norm, "steps": self.steps, "clipped": self.clipped, "share": self.share}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Clipping:
        return cls(float(values["clip_norm"]), int(values["steps"]), int(values["clipped"]))

    def tensors(self) -> dict[str, Tensor]:
        """For a checkpoint."""
        return {"counts": torch.tensor([self.steps, self.clipped])}

    def restore(self, tensors: Mapping[str, Tensor]) -> Clipping:
        """From a checkpoint; one of an earlier version has no counts, and only what follows is counted."""
        if "counts" not in tensors:
            return self
        steps, clipped = tensors["counts"].tolist()
        return Clipping(self.clip_norm, steps, clipped)

    def __str__(self) -> str:
        return f"clipped {100 * self.share:.1f} % of {self.steps:,} steps after warm-up (clip_norm {self.clip_norm:g})"


def log_clipping(training: str, clipping: Clipping) -> None:
    """One line for each training, in the log of the run."""
    log.info("%s: %s", training, clipping)
