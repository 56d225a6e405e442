"""The state of a training, in memory and in checkpoints."""

from __future__ import annotations

import copy
from pathlib import Path

import torch
from torch import Tensor, nn

from regnas.errors import TrainingDiverged
from regnas.runtime.tensors import load_into
from regnas.training.checkpoint import Checkpoint, last_checkpoint, newest_path, save_checkpoint
from regnas.training.clipping import Clipping
from regnas.training.optimizers.model_optimizer import States
from regnas.training.precision import needs_scaling
from regnas.training.readings import Reading
from regnas.training.recipe import Recipe

# In checkpoints, the momenta are a part of their own, because there were no other states at first.
MOMENTUM = "momentum_buffer"
MOMENTUM_PART = "momentum"
OPTIMIZER_PART = "optimizer"
SCALER = ("scale", "_growth_tracker")  # what changes in the state of a scaler
# The first scale is 2 ** 16, so after this many halvings in a row it is 2 ** -16.
MOST_SKIPPED = 32


class TrainingState:
    """Weights and their averages, the state of the optimizer, the scale of the loss, and the clipped steps."""

    def __init__(self, model: nn.Module, recipe: Recipe, device: torch.device) -> None:
        self.model = model
        self.optimizer = recipe.optimizer_of(model)
        self.averaging = recipe.weight_averaging
        self.averaged = self._weights() if self.averaging.keeps else {}
        self.scaler = torch.amp.GradScaler(device.type, enabled=needs_scaling(recipe.precision))
        self.clipping = Clipping(recipe.clip_norm)
        self._skipped = 0  # steps in a row

    def step(self, learning_rate: float, clip_norm: float) -> Tensor:
        """Move the weights along the gradients, which are then gone; return their norm before clipping."""
        self.optimizer.unscale(self.scaler)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), clip_norm)
        self.optimizer.step(learning_rate, self.scaler)
        self.scaler.update()
        self.model.zero_grad()
        return norm

    def take_note(self, reading: Reading, folder: Path) -> None:
        """Count a step by its values; stop a training that has diverged, before its newest checkpoint is replaced.

        In float16, a step whose gradients overflow is skipped, and the next ones have a smaller scale.
        """
        if reading.is_finite:
            self._skipped = 0
            self.clipping = self.clipping.after(reading.progress, reading.norm)
            return
        self._skipped += 1
        if self.scaler.is_enabled() and self._skipped <= MOST_SKIPPED:
            return
        kept = newest_path(folder)
        where = f"the last good checkpoint is {kept}" if kept else "no checkpoint was written yet"
        raise TrainingDiverged(
            f"the loss of step {reading.index + 1} is {reading.loss} and its gradient {reading.norm}; {where}. "
            "Lower training.learning_rate or the weights of the losses."
        )

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
            "scaler": {key: torch.tensor(self.scaler.state_dict()[key]) for key in SCALER * self.scaler.is_enabled()},
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
        scaler = {key: value.item() for key, value in checkpoint.part("scaler").items()}
        self.scaler.load_state_dict({**self.scaler.state_dict(), **scaler})
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
