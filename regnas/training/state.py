"""The state of a training, in memory and in checkpoints."""

from __future__ import annotations

import copy
from pathlib import Path

import torch
from torch import Tensor, nn

from regnas.runtime.tensors import load_into
from regnas.training.checkpoint import Checkpoint, last_checkpoint, save_checkpoint
from regnas.training.clipping import Clipping
from regnas.training.optimizers import ModelOptimizer
from regnas.training.optimizers.model_optimizer import States
from regnas.training.recipe import Recipe

# In checkpoints, the momenta are a part of their own, because there were no other states at first.
MOMENTUM = "momentum_buffer"
MOMENTUM_PART = "momentum"
OPTIMIZER_PART = "optimizer"


class TrainingState:
    """Weights, the state of the optimizer, the averages of the weights, and the clipped steps."""

    def __init__(self, model: nn.Module, optimizer: ModelOptimizer, recipe: Recipe) -> None:
        self.model = model
        self.optimizer = optimizer
        self.averaging = recipe.weight_averaging
        self.averaged = self._weights() if self.averaging.keeps else {}
        self.clipping = Clipping(recipe.clip_norm)

    def average(self, steps: int, progress: float) -> None:
        """Update the averages after this many steps."""
        self.averaging.update(self.averaged, self.model, steps, progress)

    def save(self, folder: Path, step: int, interrupted: bool) -> None:
        """Write a checkpoint after this many steps."""
        states = self.optimizer.states()
        parts = {
            "model": self.model.state_dict(),
            MOMENTUM_PART: states.pop(MOMENTUM, {}),
            **{f"{OPTIMIZER_PART}.{key}": named for key, named in states.items()},
            "ema": self.averaged,
            "clipping": self.clipping.tensors(),
        }
        save_checkpoint(folder, step, parts, interrupted)

    def restore(self, folder: Path) -> int:
        """Load the newest checkpoint, if any, and return the number of finished steps."""
        checkpoint = last_checkpoint(folder)
        if checkpoint is None:
            return 0
        load_into(self.model, checkpoint.part("model"), checkpoint.path)
        self.optimizer.load(_states(checkpoint))
        for name, average in checkpoint.part("ema").items():
            self.averaged[name].copy_(average)
        self.clipping = self.clipping.restore(checkpoint.part("clipping"))
        return checkpoint.step

    def snapshot(self) -> nn.Module:
        """Return a copy of the network as ``finish`` would leave it, without affecting the training."""
        own = copy.deepcopy(self.model)
        own._compiled_call_impl = None  # it would call the original
        self._finish(own)
        return own

    def finish(self) -> None:
        """Replace the weights by their averages, if there are any."""
        self._finish(self.model)

    def _finish(self, model: nn.Module) -> None:
        with torch.no_grad():
            for name, average in self.averaged.items():
                model.get_parameter(name).copy_(average)

    def _weights(self) -> dict[str, Tensor]:
        return {name: parameter.detach().clone() for name, parameter in self.model.named_parameters()}


def _states(checkpoint: Checkpoint) -> States:
    """Return the state of the optimizer in a checkpoint; names of parameters have dots, those of states have none."""
    states: States = {MOMENTUM: checkpoint.part(MOMENTUM_PART)}
    for name, tensor in checkpoint.part(OPTIMIZER_PART).items():
        key, _, parameter = name.partition(".")
        states.setdefault(key, {})[parameter] = tensor
    return states
