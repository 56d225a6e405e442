"""Trains what the plans of the baselines ask for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from regnas.baselines.sources import Training, needed
from regnas.runtime.progress import Bar
from regnas.runtime.randomness import key_to_int
from regnas.runtime.workers import run_in_order
from regnas.space import SearchSpace
from regnas.supernet import InputShape, SupernetPlugin
from regnas.training import SingleNetwork, Trainer, calibrate


@dataclass(frozen=True)
class Bench:
    """All trainings with one recipe, one seed and one folder; each training has its own folder inside."""

    plugin: SupernetPlugin
    input_shape: InputShape
    classes: int
    trainer: Trainer
    calibration: Tensor
    folder: Path
    seed: int

    def train_all(self, trainings: Iterable[Training], workers: int) -> None:
        jobs = needed(list(trainings))
        if workers == 1:
            for _ in run_in_order(jobs, self._train_aloud, workers):
                pass
            return
        with Bar("train baselines", len(jobs)) as bar:
            for _ in run_in_order(jobs, self._train_silently, workers):
                bar.advance()

    def train(self, training: Training, description: str = "") -> nn.Module:
        """The trained network with its batch-norm statistics, in evaluation mode; trained only if it is not on disk."""
        # The start is keyed by the content: no training repeats another's chance.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(key_to_int(self.seed, "start", training.id))
            network = self.plugin.network(training.architecture, self.input_shape, self.classes)
        objective = SingleNetwork(
            label_weight=training.label_weight,
            teachers=tuple(self.train(teacher) for teacher in training.teachers),
            weight=training.weight,
            **({"loss": training.loss} if training.loss else {}),
        )
        key = (self.seed, "training", training.id)
        self.trainer.train(network, objective, key, self.folder / training.id, description)
        return calibrate(network, self.calibration)

    def _train_aloud(self, training: Training) -> None:
        self.train(training, f"train {training.id}")

    def _train_silently(self, training: Training) -> None:
        self.train(training)

    def training_macs(self, trainings: Iterable[Training], space: SearchSpace) -> int:
        """Multiply-adds of these trainings and of all they need.

        A step takes three forward passes' worth for the student (one forward, two backward) and one for a teacher.
        """
        images = self.trainer.total_steps * self.trainer.recipe.batch_size
        passes = [3 * [training] + list(training.teachers) for training in needed(list(trainings))]
        return images * sum(space.cost(network.architecture).macs for step in passes for network in step)
