"""Count the clipped steps of a training.

A clipped step keeps its direction but not its length, so the weights of the losses no longer determine the length. If
most steps are clipped, the training does not minimize the configured mixture.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from pydantic import PlainValidator
from torch import Tensor

# The first steps of a network with random weights are large with any loss. The same warm-up for every schedule: the
# rise of one cycle is longer and ends at the highest learning rate, where clipping matters most.
WARM_UP = 0.05

NO_CLIPPING = "none"


def parse_clip_norm(value: object) -> float:
    """Return the number, or infinity for "none"."""
    if value == NO_CLIPPING:
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f'clip_norm must be a positive number, or "{NO_CLIPPING}"')
    return float(value)


ClipNorm = Annotated[float, PlainValidator(parse_clip_norm)]

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
        """Return the counts after one more step, at ``progress`` 0 <= p < 1; a step of the warm-up does not count."""
        if progress < WARM_UP:
            return self
        return Clipping(self.clip_norm, self.steps + 1, self.clipped + (norm > self.clip_norm))

    def to_json(self) -> dict[str, Any]:
        """Return the counts for a file; JSON has no infinity."""
        limit = self.clip_norm if math.isfinite(self.clip_norm) else None
        return {"clip_norm": limit, "steps": self.steps, "clipped": self.clipped, "share": self.share}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Clipping:
        limit = values["clip_norm"]
        return cls(math.inf if limit is None else float(limit), int(values["steps"]), int(values["clipped"]))

    def tensors(self) -> dict[str, Tensor]:
        """Return the counts as a tensor, for a checkpoint."""
        return {"counts": torch.tensor([self.steps, self.clipped])}

    def restore(self, tensors: Mapping[str, Tensor]) -> Clipping:
        """Read the counts of a checkpoint; without counts (earlier versions) only later steps are counted."""
        if "counts" not in tensors:
            return self
        steps, clipped = tensors["counts"].tolist()
        return Clipping(self.clip_norm, steps, clipped)

    def __str__(self) -> str:
        if math.isinf(self.clip_norm):
            return "gradients are not clipped"
        return f"clipped {100 * self.share:.1f} % of {self.steps:,} steps after warm-up (clip_norm {self.clip_norm:g})"


def log_clipping(training: str, clipping: Clipping) -> None:
    """Write one line per training to the log of the run."""
    log.info("%s: %s", training, clipping)
