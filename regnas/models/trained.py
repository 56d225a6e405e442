"""A training as a value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import nn

from regnas.data import WHOLE, Share
from regnas.errors import ConfigurationError
from regnas.losses import FeatureLoss, Loss
from regnas.models.model import Model, share_of
from regnas.models.ties import Tie
from regnas.models.workshop import Workshop
from regnas.networks import Network, leading_slice, with_dropout
from regnas.training import PASSES_OF_A_STEP, Clipping, FeatureTerm, LogitTerm, Recipe, SingleNetwork, calibrate


@dataclass(frozen=True)
class Lesson:
    """weight * loss(network; mean logits of the teachers); offline, the logits are taken once, without augmentation."""

    loss: Loss
    weight: float
    teachers: tuple[Model, ...]
    online: bool = True


@dataclass(frozen=True)
class FeatureLesson:
    """weight * loss(features of the network; features and classifier of the teacher)."""

    loss: FeatureLoss
    weight: float
    teacher: Model


@dataclass(frozen=True)
class Trained:
    """label_weight * cross-entropy and the lessons, on a share of the data; from chance or another model's weights.

    ``chance`` tells apart trainings that differ in nothing else.
    """

    network: Network
    chance: str = ""
    share: Share = WHOLE
    start: Model | None = None
    label_weight: float = 1.0
    lessons: tuple[Lesson, ...] = ()
    feature_lessons: tuple[FeatureLesson, ...] = ()
    tie: Tie | None = None
    dropout: float = 0.0

    def parts(self) -> tuple[Model, ...]:
        found = [teacher for lesson in self.lessons for teacher in lesson.teachers]
        found += [lesson.teacher for lesson in self.feature_lessons]
        found += [self.tie.old] if self.tie else []
        found += [self.start] if self.start else []
        return tuple(dict.fromkeys(found))

    def recipe(self, shop: Workshop) -> Recipe:
        recipe = shop.fine_tuning if self.start else shop.training
        return replace(recipe, weight_decay=0.0) if self.tie and self.tie.replaces_weight_decay else recipe

    def build(self, shop: Workshop) -> nn.Module:
        classes = self.share.classes_of(shop.classes)
        network = shop.fresh(self.network, classes, shop.identity(self))
        if self.dropout:
            with_dropout(network, classes, self.dropout)
        return shop.kept(self, network, lambda fresh, folder: self._train(shop, fresh, folder))

    def _train(self, shop: Workshop, network: nn.Module, folder: Path) -> tuple[nn.Module, Clipping]:
        identity = shop.identity(self)
        if self.start:
            inherit(network, shop.module(self.start))
        trainer = shop.trainer(self.recipe(shop), self.share)
        recorder = shop.recorder(self)
        if recorder:
            recorder.begin(folder, trainer.steps_per_epoch)
        description = f"train {shop.name_of(self)}, seed {shop.seed}" if shop.aloud else ""
        key = (shop.seed, "training", identity)
        clipping = trainer.train(network, self._objective(shop), key, folder, description, after_epoch=recorder)
        return calibrate(network, shop.calibration(self.share)), clipping

    def _objective(self, shop: Workshop) -> SingleNetwork:
        tie = self.tie.prepare(shop, (shop.seed, "tie", shop.identity(self))) if self.tie else {}
        classes = self.share.classes_of(shop.classes)
        return SingleNetwork(
            label_weight=self.label_weight,
            terms=[self._term(shop, lesson) for lesson in self.lessons],
            feature_terms=[
                FeatureTerm(
                    lesson.loss, lesson.weight, shop.module(lesson.teacher), _classes(shop, lesson.teacher), classes
                )
                for lesson in self.feature_lessons
            ],
            **tie,
        )

    def _term(self, shop: Workshop, lesson: Lesson) -> LogitTerm:
        if lesson.online:
            return LogitTerm(lesson.loss, lesson.weight, tuple(shop.module(teacher) for teacher in lesson.teachers))
        samples = shop.samples(self.share)
        known = torch.stack([shop.logits(teacher, samples) for teacher in lesson.teachers]).mean(dim=0)
        return LogitTerm(lesson.loss, lesson.weight, known=known)

    def training_macs(self, shop: Workshop) -> int:
        """Multiply-adds of this training alone: for each image three passes of the student, one of every teacher."""
        trainer = shop.trainer(self.recipe(shop), self.share)
        images = trainer.total_steps * trainer.recipe.batch_size
        total = PASSES_OF_A_STEP * images * shop.macs(self)
        for lesson in self.lessons:
            seen = images if lesson.online else len(trainer.split)
            total += seen * sum(shop.macs(teacher) for teacher in lesson.teachers)
        total += images * sum(shop.macs(lesson.teacher) for lesson in self.feature_lessons)
        if self.tie:
            there = len(shop.samples(share_of(self.tie.old)))
            total += PASSES_OF_A_STEP * min(self.tie.samples, there) * shop.macs(self.tie.old)
        return total


def inherit(network: nn.Module, older: nn.Module) -> None:
    """Start from older weights; rows that the older network does not have (added classes) keep their fresh values."""
    own, older_state = network.state_dict(), older.state_dict()
    differing = [
        name
        for name in own.keys() | older_state.keys()
        if name not in own
        or name not in older_state
        or own[name].shape[1:] != older_state[name].shape[1:]
        or len(own[name].shape) != len(older_state[name].shape)
        or (own[name].ndim > 0 and len(own[name]) < len(older_state[name]))
    ]
    if differing:
        raise ConfigurationError(
            f"a model cannot start from the weights of another architecture: {len(differing)} tensors differ, "
            f"first {sorted(differing)[0]}"
        )
    with torch.no_grad():
        for name, tensor in own.items():
            leading_slice(tensor, older_state[name]).copy_(older_state[name])


def _classes(shop: Workshop, model: Model) -> int:
    """How many classes a model tells apart."""
    return share_of(model).classes_of(shop.classes)
