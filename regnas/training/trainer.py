"""One trainer for supernets and single networks.

The trainer handles steps, the learning rate, checkpoints and signals; the objective defines the loss of a step. Every
draw is keyed by (key, epoch or step). Therefore an interrupted training ends with the same bits, and several processes
draw the same order, augmentation and architectures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from itertools import tee
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regnas.augmentations import MixedLabels, choose_mixing
from regnas.data import Loader, Preprocessing, Split
from regnas.errors import ConfigurationError, EnvironmentProblem, Interrupted
from regnas.runtime.processes import SINGLE, Processes
from regnas.runtime.progress import Bar
from regnas.runtime.randomness import Key, generator, key_to_int
from regnas.runtime.signals import received
from regnas.training.checkpoint import remove_unnamed
from regnas.training.clipping import Clipping, log_clipping
from regnas.training.compiling import compiled
from regnas.training.distributed import SharedStatistics, average_gradients
from regnas.training.loggers import Metrics, RunLoggers
from regnas.training.objective import MovesWeights, Objective, Step
from regnas.training.precision import check_precision, half_type, products_on
from regnas.training.prediction import Prepared, spread_images
from regnas.training.readings import Readings
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
    loggers: RunLoggers = field(default_factory=RunLoggers)
    quiet: bool = False  # no progress bar, and no line in the log of the run

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
        checkpoint.
        """
        self._check_shares()
        check_precision(self.recipe.precision, self.device)
        self._check_images(objective)
        last = self.total_steps if until is None else until
        model.to(self.device, memory_format=torch.channels_last).train()  # type: ignore[call-overload]
        with self.processes.speaking_once():
            self._check_averaging()
            state = TrainingState(model, self.recipe, self.device)
        done = self.processes.in_turn(lambda: state.restore(folder))
        self._check_start(done, folder)
        if self.processes.is_main:
            remove_unnamed(folder)
        with self.processes.together():
            metrics = self._metrics(description, folder, done, last)
        # A compiled graph would not see the shared statistics of several processes.
        compiling = self.recipe.compile and self.processes.is_single
        readings = Readings.on(self.device)
        with (
            self.processes.speaking_once(),
            Bar(description if self.processes.is_main and not self.quiet else "", last, done) as bar,
            metrics or nullcontext(),
            torch.random.fork_rng(devices=[]),
            products_on(self.device, self.recipe.precision),
            compiled(model, objective) if compiling else nullcontext(),
        ):
            for step in self._steps(key, range(done, last), state.averaged):
                seed_layers(self.device, key_to_int(*key, "layers", step.index, *self._own_draws))
                readings.add(step.index, step.progress, self._step(state, objective, step))
                state.average(step.index + 1, step.progress)
                epochs_done, within = divmod(step.index + 1, self.steps_per_epoch)
                planned = within == 0 or step.index + 1 == last
                asked = received() if self.processes.is_single else 0
                if not (planned or asked or readings.are_due):
                    continue
                for reading in readings.take():
                    state.take_note(reading, folder)
                    if metrics:
                        rate = self.recipe.learning_rate_at(reading.progress)
                        metrics.add(reading.index + 1, reading.loss, reading.norm, rate, state.clipping)
                    bar.advance(f"loss {reading.loss:.3f}")
                    asked = asked or reading.asked
                if after_epoch and within == 0:
                    after_epoch(epochs_done, state.snapshot())
                if planned or asked:
                    if self.processes.is_main:
                        state.save(folder, step.index + 1, interrupted=not planned)
                    if asked:
                        raise Interrupted(asked)
        state.finish()
        if description and not self.quiet and self.processes.is_main and done < last:
            log_clipping(description, state.clipping)
        return state.clipping

    def _step(self, state: TrainingState, objective: Objective, step: Step) -> Tensor:
        """Return the norm of the gradient, the loss and the signals of several processes, without waiting for them."""
        model, half = state.model, half_type(self.recipe.precision, self.device)
        measured = torch.zeros(1, device=self.device)
        for part, weight in _parts(step, self.recipe.accumulation):
            with self._sharing(), torch.autocast(self.device.type, half) if half else nullcontext():
                loss = weight * objective(model, part)
            state.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            measured += loss.detach()
        if not self.processes.is_single:
            measured = average_gradients(model.parameters(), measured, self.processes)
        learning_rate = self.recipe.learning_rate_at(step.progress)
        norm = state.step(learning_rate, self.recipe.clip_norm)
        if isinstance(objective, MovesWeights):
            objective.after_step(model, learning_rate)
        return torch.cat([norm[None], measured])

    def _steps(self, key: tuple[Key, ...], indices: range, averaged: dict[str, Tensor]) -> Iterator[Step]:
        """Yield the batch of each step on the device; the loader augments images, those of files ahead in threads."""
        order, wanted = tee(self._order(key, indices))
        loader = Loader(self.split.images, self.device, self.recipe.pipeline(key).images)
        with closing(loader.batches(wanted)) as batches:
            for index, (chosen, _), augmented in zip(indices, order, batches, strict=True):
                targets = self.split.targets[chosen].to(self.device)
                images, mixed = self._mixed_images(augmented, targets, generator(*key, "mixing", index))
                images = images.contiguous(memory_format=torch.channels_last)
                progress = index / self.total_steps
                yield Step(images, targets, chosen, index, progress, averaged, self.processes.mean, mixed)

    def _order(self, key: tuple[Key, ...], indices: range) -> Iterator[tuple[Tensor, int]]:
        """Yield the numbers of the images of each step in this process, and the epoch; the loader asks ahead."""
        order = torch.empty(0)
        for index in indices:
            epoch, within = divmod(index, self.steps_per_epoch)
            if within == 0 or index == indices.start:
                order = torch.from_numpy(generator(*key, "order", epoch).permutation(len(self.split)))
            batch = order[within * self.recipe.batch_size : (within + 1) * self.recipe.batch_size]
            yield batch[self.processes.share], epoch

    def _mixed_images(
        self, images: Tensor, targets: Tensor, random: np.random.Generator
    ) -> tuple[Tensor, MixedLabels | None]:
        """Return the images as the network reads them, mixed with partners if the recipe mixes this batch."""
        mixing = choose_mixing(self.recipe.mixings, random)
        if mixing is None:
            return self.preprocessing(images), None
        partners = self.preprocessing(self._previous(images))
        mixed, share = mixing.mix(self.preprocessing(images), partners, random)
        return mixed, MixedLabels(self._previous(targets), share)

    def _previous(self, own: Tensor) -> Tensor:
        """Return for each own sample the one before it in the batch of all processes; the last for the first."""
        batch = self.processes.gather(own).transpose(0, 1).flatten(0, 1)  # [P, N, ...] -> [N P, ...]
        return batch.roll(1, 0)[self.processes.share]

    def _metrics(self, description: str, folder: Path, done: int, last: int) -> Metrics | None:
        """Open the record of a training; None if nothing is left to train, or another process records it."""
        if not self.processes.is_main or done >= last:
            return None
        name = description.removeprefix("train ") or "training"
        return Metrics.open(self.loggers, name, folder, done, last, self.steps_per_epoch)

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

    def _check_images(self, objective: Objective) -> None:
        """Check that the augmentations fit the images and the objective."""
        _, channels, height, width = self.split.images.shape
        with self.processes.speaking_once():
            self.recipe.image_shapes((channels, height, width))
            self.recipe.check_labels(getattr(objective, "single_labels", type(objective).__name__))

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
        mixed = None if step.mixed is None else replace(step.mixed, partners=step.mixed.partners[span])
        part = replace(
            step, images=step.images[span], targets=step.targets[span], indices=step.indices[span], mixed=mixed
        )
        yield part, len(own) / total


def seed_layers(device: torch.device, seed: int) -> None:
    """Seed torch, for dropout and similar layers; on the CPU without the slow search for other devices."""
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)
