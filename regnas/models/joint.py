"""Networks that are trained together: the training as one value, and each of its networks as another."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import nn

from regnas.data import WHOLE, Share
from regnas.losses import Loss
from regnas.models.model import Model
from regnas.models.trained import inherit
from regnas.models.workshop import Workshop
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


class Bond(Protocol):
    """What makes networks that are trained together agree."""

    def objective(self, shop: Workshop, joint: JointTraining) -> Objective: ...


@dataclass(frozen=True)
class MeanLogits:
    """Each network is pulled to the mean logits of all, after the share ``start`` of the training."""

    loss: Loss
    weight: float
    start: float = 0.0

    def objective(self, shop: Workshop, joint: JointTraining) -> Objective:
        return PulledToMean(self.loss, self.weight, self.start)


@dataclass(frozen=True)
class Twins:
    """Two networks, a bootstrap of the training samples each, and the divergence between them."""

    weight: float

    def objective(self, shop: Workshop, joint: JointTraining) -> Objective:
        samples = len(shop.samples(joint.share))
        drawn = [
            generator(shop.seed, "bootstrap", shop.identity(joint), index).integers(samples, size=samples)
            for index in range(len(joint.networks))
        ]
        counts = np.stack([np.bincount(draws, minlength=samples) for draws in drawn])  # [2, samples]
        return TwinBootstraps(self.weight, torch.from_numpy(counts).float())


@dataclass(frozen=True)
class JointTraining:
    """Several networks trained side by side on the same batches.

    ``starts`` are the models whose weights they start from, or none; ``chance`` tells apart trainings that differ in
    nothing else. The cost of the training is counted with its networks, each its own part.
    """

    networks: tuple[Network, ...]
    bond: Bond
    chance: str = ""
    share: Share = WHOLE
    starts: tuple[Model, ...] = ()

    def parts(self) -> tuple[Model, ...]:
        return tuple(dict.fromkeys(self.starts))

    def recipe(self, shop: Workshop) -> Recipe:
        """The gradient of M networks is longer than that of one by about sqrt(M): so is the length to clip at."""
        recipe = shop.fine_tuning if self.starts else shop.training
        return replace(recipe, clip_norm=recipe.clip_norm * math.sqrt(len(self.networks)))

    def build(self, shop: Workshop) -> nn.Module:
        classes, identity = self.share.classes_of(shop.classes), shop.identity(self)
        networks = [
            shop.fresh(network, classes, f"{identity} {index}") for index, network in enumerate(self.networks)
        ]
        return shop.kept(self, SideBySide(networks), lambda fresh, folder: self._train(shop, fresh, folder))

    def _train(self, shop: Workshop, model: nn.Module, folder: Path) -> tuple[nn.Module, Clipping]:
        assert isinstance(model, SideBySide)
        identity = shop.identity(self)
        for network, start in zip(model.networks, self.starts, strict=False):
            inherit(network, shop.module(start))
        description = f"train {shop.name_of(self)}, seed {shop.seed}" if shop.aloud else ""
        trainer = shop.trainer(self.recipe(shop), self.share)
        key = (shop.seed, "training", identity)
        return model, trainer.train(model, self.bond.objective(shop, self), key, folder, description)

    def training_macs(self, shop: Workshop) -> int:
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
    def share(self) -> Share:
        return self.joint.share

    def parts(self) -> tuple[Model, ...]:
        return (self.joint,)

    def recipe(self, shop: Workshop) -> Recipe:
        return self.joint.recipe(shop)

    def build(self, shop: Workshop) -> nn.Module:
        fresh = shop.fresh(self.network, self.share.classes_of(shop.classes), shop.identity(self))
        return shop.kept(self, fresh, lambda _network, _folder: (self._take(shop), None))

    def _take(self, shop: Workshop) -> nn.Module:
        joint = shop.module(self.joint)
        assert isinstance(joint, SideBySide)
        return calibrate(copy.deepcopy(joint.networks[self.index]), shop.calibration(self.share))

    def training_macs(self, shop: Workshop) -> int:
        """Multiply-adds of its own part of the joint training: three passes per image."""
        trainer = shop.trainer(self.recipe(shop), self.share)
        return PASSES_OF_A_STEP * trainer.total_steps * trainer.recipe.batch_size * shop.macs(self)


def joint_members(joint: JointTraining) -> tuple[MemberOf, ...]:
    return tuple(MemberOf(joint, index) for index in range(len(joint.networks)))
