"""One trainer for supernets and single networks.

The trainer handles steps, the learning rate, checkpoints and signals; the objective defines the loss of a step. Every
draw is keyed by (key, epoch or step). Therefore an interrupted training ends with the same bits, and several processes
draw the same order, augmentation and architectures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regnas.data import Preprocessing, Split
from regnas.errors import ConfigurationError, EnvironmentProblem, Interrupted, TrainingDiverged
from regnas.runtime.processes import SINGLE, Processes
from regnas.runtime.progress import Bar
from regnas.runtime.randomness import Key, generator, key_to_int
from regnas.runtime.signals import received
from regnas.training.checkpoint import newest_path, remove_unnamed
from regnas.training.clipping import Clipping, log_clipping
from regnas.training.compiling import compiled
from regnas.training.distributed import SharedStatistics, average_gradients
from regnas.training.objective import MovesWeights, Objective, Step
from regnas.training.optimizers import ModelOptimizer
from regnas.training.prediction import Prepared, spread_images
from regnas.training.recipe import Recipe
from regnas.training.state import TrainingState

# Called at the end of every epoch, before its checkpoint is written, with the number of finished epochs and a copy of
# the network as if the training ended here.
AfterEpoch = Callable[[int, nn.Module], None]


@dataclass(frozen=True)
class Trainer:
    """All of a training except the network and its objective.

    A step takes ``recipe.batch_size`` images, which the ``processes`` share equally. Except for rounding and dropout,
    their number does not change the result.
    """

    recipe: Recipe
    split: Split
    preprocessing: Preprocessing
    device: torch.device
    processes: Processes = SINGLE

    @property
    def steps_per_epoch(self) -> int:
        return max(1, len(self.split) // self.recipe.batch_size)

    @property
    def total_steps(self) -> int:
        return self.recipe.epochs * self.steps_per_epoch

    def macs(self, of_step: Callable[[int, float], int], first: int = 0) -> int:
        """Return the multiply-adds of all steps from ``first`` on; ``of_step`` gives those per image of a step."""
        images = self.recipe.batch_size
        return images * sum(of_step(index, index / self.total_steps) for index in range(first, self.total_steps))

    def initialize(self, network: nn.Module) -> None:
        """Change the random weights of a network as the recipe says; the same in every process."""
        self.recipe.check_network(network)
        device = next(network.parameters()).device
        for each in self.recipe.initialization:
            each.apply(network, lambda count: Prepared(spread_images(self.split, count), self.preprocessing, device))

    def train(
        self,
        model: nn.Module,
        objective: Objective,
        key: tuple[Key, ...],
        folder: Path,
        description: str,
        until: int | None = None,
        after_epoch: AfterEpoch | None = None,
    ) -> Clipping:
        """Train ``model`` in place; ``folder`` keeps the checkpoints. A finished training is only loaded.

        ``until`` ends after this many steps, with a checkpoint from which trainings of other objectives can continue.
        ``after_epoch`` does not change the training. The result counts the clipped steps, including those before a
        checkpoint; a training with a description logs it.
        """
        self._check_shares()
        last = self.total_steps if until is None else until
        model.to(self.device, memory_format=torch.channels_last).train()  # type: ignore[call-overload]
        with self.processes.speaking_once():
            self._check_averaging()
            optimizer = self.recipe.optimizer_of(model)
        state = TrainingState(model, optimizer, self.recipe)
        done = self.processes.in_turn(lambda: state.restore(folder))
        self._check_start(done, folder)
        if self.processes.is_main:
            remove_unnamed(folder)
        # A compiled graph would not see the shared statistics of several processes.
        compiling = self.recipe.compile and self.processes.is_single
        with (
            self.processes.speaking_once(),
            Bar(description if self.processes.is_main else "", last, done) as bar,
            torch.random.fork_rng(devices=[]),
            compiled(model, objective) if compiling else nullcontext(),
        ):
            for step in self._steps(key, range(done, last), state.averaged):
                seed_layers(self.device, key_to_int(*key, "layers", step.index, *self._own_draws))
                loss, norm, asked = self._step(model, optimizer, objective, step, folder)
                state.average(step.index + 1, step.progress)
                state.clipping = state.clipping.after(step.progress, norm)
                epochs_done, within = divmod(step.index + 1, self.steps_per_epoch)
                if after_epoch and within == 0:
                    after_epoch(epochs_done, state.snapshot())
                planned = within == 0 or step.index + 1 == last
                if planned or asked:
                    if self.processes.is_main:
                        state.save(folder, step.index + 1, interrupted=not planned)
                    if asked:
                        raise Interrupted(asked)
                bar.advance(f"loss {loss:.3f}")
        state.finish()
        if description and self.processes.is_main and done < last:
            log_clipping(description, state.clipping)
        return state.clipping

    def _step(
        self, model: nn.Module, optimizer: ModelOptimizer, objective: Objective, step: Step, folder: Path
    ) -> tuple[float, float, int]:
        """Return the loss, the norm of its gradient, and a signal to stop or 0; the same in all processes."""
        value = 0.0
        for part, weight in _parts(step, self.recipe.accumulation):
            with self._sharing(), torch.autocast(self.device.type, torch.bfloat16, enabled=self._mixed):
                loss = weight * objective(model, part)
            loss.backward()  # type: ignore[no-untyped-call]
            value += float(loss.detach())
        asked = received()
        if not self.processes.is_single:
            value, asked = average_gradients(model.parameters(), value, self.processes)
        norm = float(nn.utils.clip_grad_norm_(model.parameters(), self.recipe.clip_norm))
        if not math.isfinite(value) or not math.isfinite(norm):
            kept = newest_path(folder)
            where = f"the last good checkpoint is {kept}" if kept else "no checkpoint was written yet"
            raise TrainingDiverged(
                f"the loss of step {step.index + 1} is {value} and its gradient {norm}; {where}. "
                "Lower training.learning_rate or the weights of the losses."
            )
        learning_rate = self.recipe.learning_rate_at(step.progress)
        optimizer.step(learning_rate)
        model.zero_grad()
        if isinstance(objective, MovesWeights):
            objective.after_step(model, learning_rate)
        return value, norm, asked

    def _steps(self, key: tuple[Key, ...], indices: range, averaged: dict[str, Tensor]) -> Iterator[Step]:
        order = torch.empty(0)
        for index in indices:
            epoch, within = divmod(index, self.steps_per_epoch)
            if within == 0 or index == indices.start:
                order = torch.from_numpy(generator(*key, "order", epoch).permutation(len(self.split)))
            batch = order[within * self.recipe.batch_size : (within + 1) * self.recipe.batch_size]
            chosen = batch[self.processes.share]
            images = self.split.images[chosen].to(self.device)
            images = self.recipe.augmentation(images, generator(*key, "augmentation", index), self.processes)
            images = self.preprocessing(images).contiguous(memory_format=torch.channels_last)
            targets = self.split.targets[chosen].to(self.device)
            yield Step(images, targets, chosen, index, index / self.total_steps, averaged, self.processes.mean)

    @property
    def _mixed(self) -> bool:
        return self.recipe.is_mixed_on(self.device)

    @property
    def _own_draws(self) -> tuple[Key, ...]:
        """Seed dropout differently in every process, so that their samples do not drop the same units."""
        return () if self.processes.is_single else (self.processes.rank,)

    def _sharing(self) -> AbstractContextManager[Any]:
        return nullcontext() if self.processes.is_single else SharedStatistics(self.processes)

    def _check_shares(self) -> None:
        """Check that all processes have the same number of images, so that their mean is the mean over images."""
        images, shares = min(self.recipe.batch_size, len(self.split)), self.processes.count * self.recipe.accumulation
        if not self.processes.is_single and images % shares:
            with self.processes.speaking_once():
                raise ConfigurationError(
                    f"{images} images per step must divide evenly among {self.processes.count} processes with "
                    f"{self.recipe.accumulation} parts each. Change training.batch_size or the number of processes."
                )

    def _check_averaging(self) -> None:
        try:
            if self.total_steps:
                self.recipe.weight_averaging.check(self.total_steps)
        except ValueError as error:
            raise ConfigurationError(f"training: {error}") from None

    def _check_start(self, done: int, folder: Path) -> None:
        """Check that all processes read the same checkpoint, that is, see the same folder."""
        if self.processes.is_single:
            return
        steps = self.processes.gather(torch.tensor([done])).flatten().tolist()
        if len(set(steps)) > 1:
            with self.processes.speaking_once():
                raise EnvironmentProblem(
                    f"the processes find different checkpoints in {folder} (steps {', '.join(map(str, steps))}). "
                    "Put the run folder on a disk that all processes share."
                )


def _parts(step: Step, count: int) -> Iterator[tuple[Step, float]]:
    """Return parts of the batch with their weights in its mean; a split smaller than the batch may be uneven."""
    if count == 1:
        yield step, 1.0
        return
    total = len(step.targets)
    for own in torch.arange(total).tensor_split(min(count, total)):
        span = slice(int(own[0]), int(own[-1]) + 1)
        part = replace(step, images=step.images[span], targets=step.targets[span], indices=step.indices[span])
        yield part, len(own) / total


def seed_layers(device: torch.device, seed: int) -> None:
    """Seed torch, for dropout and similar layers; on the CPU without the slow search for other devices."""
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)
