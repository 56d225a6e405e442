"""A training to a target negative flip rate, as a value."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from regnas.data import WHOLE, DataFraction, Split, hold_out
from regnas.losses import FlipHinge, Loss, on_known_classes
from regnas.networks import Network
from regnas.training import (
    PASSES_OF_A_STEP,
    Clipping,
    ConstrainedObjective,
    HeldOut,
    Recipe,
    Trainer,
    WithMultipliers,
    calibrate,
)
from regnas.updates.models.model import Model, share_of
from regnas.updates.models.store import ModelStore
from regnas.updates.models.trained import inherit

log = logging.getLogger("regnas")


@dataclass(frozen=True)
class Constrained:
    """Cross-entropy subject to NFR(network; old) <= target for each of ``olds``, measured on held-out samples.

    The ``surrogate`` stands for the NFR in the gradient; the multiplier follows the NFR itself.

    ``held_out`` is the share of the training samples that no step trains on. It is taken from the classes that all old
    models know. If there are enough samples that no old model was trained on, all held-out samples are such samples.
    If not, the old models are more accurate on the held-out samples than on new ones: the measured NFR is then too
    high, and the training is stricter than its target.
    """

    network: Network
    olds: tuple[Model, ...]
    target: float
    replicate: str = field(default="", metadata={"content_name": "chance"})
    share: DataFraction = WHOLE
    start: Model | None = None
    rate: float = 1.0
    warm_up: float = 0.5
    surrogate: Loss = field(default_factory=FlipHinge)
    held_out: float = 0.1

    single_labels: ClassVar[str] = "the constraint on flips"

    def parts(self) -> tuple[Model, ...]:
        return tuple(dict.fromkeys([*self.olds, *([self.start] if self.start else [])]))

    def recipe(self, store: ModelStore) -> Recipe:
        return store.fine_tuning if self.start else store.training

    def build(self, store: ModelStore) -> nn.Module:
        there = store.is_kept(self)
        network = store.fresh(self.network, self.share.classes_of(store.classes), store.identity(self))
        epochs = self.recipe(store).epochs
        whole = WithMultipliers(network, len(self.olds), epochs).to(store.device)
        kept = store.load_or_train(self, whole, lambda fresh, folder: self._train(store, fresh, folder))
        assert isinstance(kept, WithMultipliers)
        if there:  # a training that runs in this process logs its own lines
            for epoch in range(epochs):
                log.info("%s: %s", self._name(store), kept.line(epoch))
        return kept.network

    def _train(self, store: ModelStore, model: nn.Module, folder: Path) -> tuple[nn.Module, Clipping]:
        assert isinstance(model, WithMultipliers)
        trainer, held = self._trainer(store)
        if self.start:
            inherit(model.network, store.module(self.start))
        else:
            trainer.initialize(model.network)
        key = (store.seed, "training", store.identity(self))
        correct = torch.stack([store.logits(old, held).argmax(dim=1) == held.targets for old in self.olds])  # [R, N]
        objective = ConstrainedObjective(
            olds=[store.module(old) for old in self.olds],
            held_out=HeldOut(held, correct, store.splits.preprocessing, trainer.recipe.batch_size, key),
            target=self.target,
            rate=self.rate,
            steps_per_epoch=trainer.steps_per_epoch,
            name=self._name(store),
            warm_up=self.warm_up,
            surrogate=partial(on_known_classes, self.surrogate),
            label_loss=self.recipe(store).label_loss,
        )
        description = store.describe_training(self)
        clipping = trainer.train(model, objective, key, folder, description)
        calibrate(model.network, store.calibration(self.share))
        return model, clipping

    def training_macs(self, store: ModelStore) -> int:
        """Return the multiply-adds of this training.

        Per image, these are three passes of the network and one of each old model; per held-out image, one of the
        network in each step that measures it, and one of each old model in all.
        """
        trainer, held = self._trainer(store)
        images = trainer.total_steps * trainer.recipe.batch_size
        measured = trainer.total_steps * min(trainer.recipe.batch_size, len(held))
        of_olds = sum(store.macs(old) for old in self.olds)
        return (PASSES_OF_A_STEP * images + measured) * store.macs(self) + (images + len(held)) * of_olds

    def _trainer(self, store: ModelStore) -> tuple[Trainer, Split]:
        """Return the trainer on the samples that are left, and the held-out samples."""
        samples = store.samples(self.share)
        kept, held = self._parted(store, samples)
        trainer = store.trainer_on(samples.part("train", kept), self.recipe(store))
        return trainer, samples.part("held out", held)

    def _parted(self, store: ModelStore, samples: Split) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        shares = [share_of(old) for old in self.olds]
        known_classes = min(share.classes_of(store.classes) for share in shares)
        known = samples.targets.numpy() < known_classes  # [N]
        seen = np.isin(samples.groups, np.concatenate([store.samples(share).groups for share in shares]))  # [N]
        wanted = self.held_out * known.sum()
        unseen = known & ~seen
        candidates = np.flatnonzero(unseen if unseen.sum() > wanted else known)
        fraction = wanted / len(candidates)
        _, chosen = hold_out(samples.targets.numpy()[candidates], fraction, 0, samples.groups[candidates])
        held = candidates[chosen]
        return np.setdiff1d(np.arange(len(samples)), held), held

    def _name(self, store: ModelStore) -> str:
        return f"train {self.replicate} {store.identity(self)[:6]} to NFR <= {self.target:.2%}"
