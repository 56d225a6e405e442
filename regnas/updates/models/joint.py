"""Networks that are trained together: the training as one value, and each of its networks as another."""

from __future__ import annotations

import copy
import itertools
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
import torch
from torch import nn

from regnas.data import WHOLE, DataFraction
from regnas.losses import Loss, needs_single_labels
from regnas.networks import Network
from regnas.runtime.randomness import generator
from regnas.training import (
    PASSES_OF_A_STEP,
    Clipping,
    Objective,
    PulledToMean,
    Recipe,
    SideBySide,
    TwinBootstraps,
    calibrate,
)
from regnas.updates.models.model import Model
from regnas.updates.models.store import ModelStore
from regnas.updates.models.trained import inherit


class Bond(Protocol):
    """The term that makes networks agree that are trained together; ``single_labels`` as of a training."""

    @property
    def single_labels(self) -> str: ...

    def objective(self, store: ModelStore, joint: JointTraining) -> Objective: ...


@dataclass(frozen=True)
class MeanLogits:
    """Each network is pulled to the mean logits of all, after the share ``start`` of the training."""

    loss: Loss
    weight: float
    start: float = 0.0

    @property
    def single_labels(self) -> str:
        return needs_single_labels([self.loss])

    def objective(self, store: ModelStore, joint: JointTraining) -> Objective:
        return PulledToMean(self.loss, self.weight, self.start, joint.recipe(store).label_loss)


@dataclass(frozen=True)
class Twins:
    """Two networks, each on its own bootstrap of the training samples, and the divergence between them."""

    weight: float

    single_labels: ClassVar[str] = "the count of a sample in a bootstrap"

    def objective(self, store: ModelStore, joint: JointTraining) -> Objective:
        samples = len(store.samples(joint.share))
        drawn = [
            generator(store.seed, "bootstrap", store.identity(joint), index).integers(samples, size=samples)
            for index in range(len(joint.networks))
        ]
        counts = np.stack([np.bincount(draws, minlength=samples) for draws in drawn])  # [2, samples]
        return TwinBootstraps(self.weight, torch.from_numpy(counts).float(), joint.recipe(store).label_loss)


@dataclass(frozen=True)
class JointTraining:
    """Several networks trained side by side on the same batches.

    ``starts`` are the models whose weights they start from, or none. ``replicate`` distinguishes trainings that are
    otherwise the same. The cost of the training is counted with its networks, each with its own part.
    """

    networks: tuple[Network, ...]
    bond: Bond
    replicate: str = field(default="", metadata={"content_name": "chance"})
    share: DataFraction = WHOLE
    starts: tuple[Model, ...] = ()

    def parts(self) -> tuple[Model, ...]:
        return tuple(dict.fromkeys(self.starts))

    @property
    def single_labels(self) -> str:
        return self.bond.single_labels

    def recipe(self, store: ModelStore) -> Recipe:
        """Return the recipe with the clipping norm times sqrt(M), because the gradient of M networks is longer."""
        recipe = store.fine_tuning if self.starts else store.training
        return replace(recipe, clip_norm=recipe.clip_norm * math.sqrt(len(self.networks)))

    def build(self, store: ModelStore) -> nn.Module:
        classes, identity = self.share.classes_of(store.classes), store.identity(self)
        networks = [store.fresh(network, classes, f"{identity} {index}") for index, network in enumerate(self.networks)]
        return store.load_or_train(self, SideBySide(networks), lambda fresh, folder: self._train(store, fresh, folder))

    def _train(self, store: ModelStore, model: nn.Module, folder: Path) -> tuple[nn.Module, Clipping]:
        assert isinstance(model, SideBySide)
        identity = store.identity(self)
        trainer = store.trainer(self.recipe(store), self.share)
        for network, start in itertools.zip_longest(model.networks, self.starts):
            if start is None:
                trainer.initialize(network)
            else:
                inherit(network, store.module(start))
        description = store.describe_training(self)
        key = (store.seed, "training", identity)
        return model, trainer.train(model, self.bond.objective(store, self), key, folder, description)

    def training_macs(self, store: ModelStore) -> int:
        return 0


@dataclass(frozen=True)
class MemberOf:
    """One network of a joint training, with batch-norm statistics of its own."""

    joint: JointTraining
    index: int

    @property
    def network(self) -> Network:
        return self.joint.networks[self.index]

    @property
    def share(self) -> DataFraction:
        return self.joint.share

    def parts(self) -> tuple[Model, ...]:
        return (self.joint,)

    @property
    def single_labels(self) -> str:
        return self.joint.single_labels

    def recipe(self, store: ModelStore) -> Recipe:
        return self.joint.recipe(store)

    def build(self, store: ModelStore) -> nn.Module:
        fresh = store.fresh(self.network, self.share.classes_of(store.classes), store.identity(self))
        return store.load_or_train(self, fresh, lambda _network, _folder: (self._take(store), None))

    def _take(self, store: ModelStore) -> nn.Module:
        joint = store.module(self.joint)
        assert isinstance(joint, SideBySide)
        return calibrate(copy.deepcopy(joint.networks[self.index]), store.calibration(self.share))

    def training_macs(self, store: ModelStore) -> int:
        """Return the multiply-adds of its own part of the joint training: three passes per image."""
        trainer = store.trainer(self.recipe(store), self.share)
        return PASSES_OF_A_STEP * trainer.total_steps * trainer.recipe.batch_size * store.macs(self)


def joint_members(joint: JointTraining) -> tuple[MemberOf, ...]:
    """Return the networks of a joint training, each as a model."""
    return tuple(MemberOf(joint, index) for index in range(len(joint.networks)))
