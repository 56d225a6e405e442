"""Fork a training into a plain and a congruent branch, and interpolate the weights of their ends.

Backward-compatible weight interpolation (BCWI: Schumann et al., 2023) for a supernet: both ends come from the same
weights, so the networks on the line between them are good. One number moves all sub-networks at once from accuracy to
agreement, without training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from regnas.runtime.randomness import Key
from regnas.training.checkpoint import copy_checkpoints
from regnas.training.clipping import Clipping
from regnas.training.curriculum import Curriculum
from regnas.training.objective import SupernetObjective
from regnas.training.trainer import Trainer

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class Ends:
    plain: Weights
    congruent: Weights
    clipping: Mapping[str, Clipping] = field(default_factory=dict)  # by end, including the shared part

    def at(self, alpha: float) -> Weights:
        """Return (1 - alpha) * plain + alpha * congruent; counters are those of the plain end."""
        return {
            name: torch.lerp(tensor, self.congruent[name], alpha) if tensor.is_floating_point() else tensor
            for name, tensor in self.plain.items()
        }


@dataclass(frozen=True)
class ForkedTraining:
    """Train both ends; train the shared part once."""

    trainer: Trainer
    objective: Callable[[Curriculum], SupernetObjective]
    curriculum: Curriculum
    folder: Path

    @property
    def fork_step(self) -> int:
        """The first step of a later lesson, or the number of all steps if there is none."""
        fork, steps = self.curriculum.fork, self.trainer.total_steps
        return next((index for index in range(steps) if fork is not None and index / steps >= fork), steps)

    def train(self, start: Callable[[], nn.Module], key: tuple[Key, ...], description: str) -> Ends:
        """Train both ends; ``start`` builds a new network with the initial weights at each call."""
        plain, congruent = self.objective(self.curriculum.plain()), self.objective(self.curriculum)
        shared = start()
        together = self.trainer.train(shared, plain, key, self.folder / "shared", description, until=self.fork_step)
        if self.fork_step == self.trainer.total_steps:
            return Ends(shared.state_dict(), shared.state_dict(), {"both ends": together})
        ends, clipping = [], {}
        for name, objective in (("plain", plain), ("congruent", congruent)):
            if self.trainer.processes.is_main:
                copy_checkpoints(self.folder / "shared", self.folder / name)
            network = start()
            shown = f"{description}, {name} end"
            clipping[f"{name} end"] = self.trainer.train(network, objective, key, self.folder / name, shown)
            ends.append(network.state_dict())
        [at_plain, at_congruent] = ends
        return Ends(at_plain, at_congruent, clipping)

    def macs(self) -> int:
        """Return the multiply-adds of both ends, with the shared part counted once."""
        plain, congruent = self.objective(self.curriculum.plain()), self.objective(self.curriculum)
        return self.trainer.macs(plain.macs_of) + self.trainer.macs(congruent.macs_of, first=self.fork_step)
