"""A training that parts: the plain and the congruent end of a line, and the weights between them.

Backward-compatible weight interpolation (BCWI: Schumann et al., 2023) for a supernet: both ends come from the same
weights, so that the line between them is one of good networks, and one number moves all sub-networks at once from
accuracy to agreement without training.
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
    clipping: Mapping[str, Clipping] = field(default_factory=dict)  # by end, what both share included

    def at(self, alpha: float) -> Weights:
        """(1 - alpha) * plain + alpha * congruent; what is no number to mix (counters) is the plain end's."""
        return {
            name: torch.lerp(tensor, self.congruent[name], alpha) if tensor.is_floating_point() else tensor
            for name, tensor in self.plain.items()
        }


@dataclass(frozen=True)
class ForkedTraining:
    """Trains both ends; what they have in common is trained once."""

    trainer: Trainer
    objective: Callable[[Curriculum], SupernetObjective]
    curriculum: Curriculum
    folder: Path

    @property
    def fork_step(self) -> int:
        """The first step of a later lesson; all of them where there is none."""
        fork, steps = self.curriculum.fork, self.trainer.total_steps
        return next((index for index in range(steps) if fork is not None and index / steps >= fork), steps)

    def train(self, start: Callable[[], nn.Module], key: tuple[Key, ...], description: str) -> Ends:
        """``start`` makes a network with the weights to begin from, each time a new one."""
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
            told = f"{description}, {name} end"
            clipping[f"{name} end"] = self.trainer.train(network, objective, key, self.folder / name, told)
            ends.append(network.state_dict())
        [at_plain, at_congruent] = ends
        return Ends(at_plain, at_congruent, clipping)

    def macs(self) -> int:
        """Multiply-adds of both ends, the common part once."""
        plain, congruent = self.objective(self.curriculum.plain()), self.objective(self.curriculum)
        return self.trainer.macs(plain.macs_of) + self.trainer.macs(congruent.macs_of, first=self.fork_step)
