"""A training as a value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import torch
from torch import nn

from regnas.data import WHOLE, DataFraction
from regnas.errors import ConfigurationError
from regnas.losses import FeatureLoss, Loss, MarginCrossEntropy, needs_single_labels
from regnas.networks import Network, leading_slice, with_dropout
from regnas.training import PASSES_OF_A_STEP, Clipping, FeatureTerm, LogitTerm, Recipe, SingleNetwork, calibrate
from regnas.updates.models.fisher import fisher_macs
from regnas.updates.models.model import Model, share_of
from regnas.updates.models.store import ModelStore
from regnas.updates.models.ties import Tie


@dataclass(frozen=True)
class Lesson:
    """weight * loss(network; mean logits of the teachers).

    If it is not ``online``, the logits are computed once, without augmentation. The lesson begins at the share
    ``start`` of the training. Until a lesson begins, only the labels count, with weight 1.
    """

    loss: Loss
    weight: float
    teachers: tuple[Model, ...]
    online: bool = True
    start: float = field(default=0.0, metadata={"content": "unless default"})

    def __post_init__(self) -> None:
        if not 0 <= self.start < 1:
            raise ValueError(f"start must be at least 0 and below 1, got {self.start}")


@dataclass(frozen=True)
class FeatureLesson:
    """weight * loss(features of the network; features and classifier of the teacher)."""

    loss: FeatureLoss
    weight: float
    teacher: Model


@dataclass(frozen=True)
class AddedClassMargin:
    """Cross-entropy with a bias on the logits of classes that are not in the ``known`` share (margin preserving)."""

    bias: float
    known: DataFraction

    def label_loss(self, classes: int, label_smoothing: float = 0.0) -> Loss:
        """Return the cross-entropy with the margin; ``classes`` is the number of all classes."""
        return MarginCrossEntropy(self.bias, self.known.classes_of(classes), label_smoothing)


@dataclass(frozen=True)
class Trained:
    """label_weight * cross-entropy and the lessons, on a share of the data.

    The training starts from random weights or from those of ``start``. ``replicate`` distinguishes trainings that are
    otherwise the same.
    """

    network: Network
    replicate: str = field(default="", metadata={"content_name": "chance"})
    share: DataFraction = WHOLE
    start: Model | None = None
    label_weight: float = 1.0
    lessons: tuple[Lesson, ...] = ()
    feature_lessons: tuple[FeatureLesson, ...] = ()
    tie: Tie | None = None
    dropout: float = 0.0
    margin: AddedClassMargin | None = field(default=None, metadata={"content": "unless default"})

    def parts(self) -> tuple[Model, ...]:
        found = [teacher for lesson in self.lessons for teacher in lesson.teachers]
        found += [lesson.teacher for lesson in self.feature_lessons]
        found += [self.tie.old] if self.tie else []
        found += [self.start] if self.start else []
        return tuple(dict.fromkeys(found))

    def recipe(self, store: ModelStore) -> Recipe:
        recipe = store.fine_tuning if self.start else store.training
        return replace(recipe, weight_decay=0.0) if self.tie and self.tie.replaces_weight_decay else recipe

    @property
    def single_labels(self) -> str:
        if any(not lesson.online for lesson in self.lessons):
            return "a teacher that is not online"
        taught: list[object] = [
            *(lesson.loss for lesson in self.lessons),
            *(lesson.loss for lesson in self.feature_lessons),
        ]
        return needs_single_labels(taught)

    def build(self, store: ModelStore) -> nn.Module:
        classes = self.share.classes_of(store.classes)
        network = store.fresh(self.network, classes, store.identity(self))
        if self.dropout:
            with_dropout(network, classes, self.dropout)
        return store.load_or_train(self, network, lambda fresh, folder: self._train(store, fresh, folder))

    def _train(self, store: ModelStore, network: nn.Module, folder: Path) -> tuple[nn.Module, Clipping]:
        identity = store.identity(self)
        trainer = store.trainer(self.recipe(store), self.share)
        if self.start:
            inherit(network, store.module(self.start))
        else:
            trainer.initialize(network)
        recorder = store.recorder(self)
        if recorder:
            recorder.begin(folder, trainer.steps_per_epoch)
        description = store.describe_training(self)
        key = (store.seed, "training", identity)
        clipping = trainer.train(network, self._objective(store), key, folder, description, after_epoch=recorder)
        return calibrate(network, store.calibration(self.share)), clipping

    def _objective(self, store: ModelStore) -> SingleNetwork:
        tie = self.tie.prepare(store, (store.seed, "tie", store.identity(self))) if self.tie else {}
        classes = self.share.classes_of(store.classes)
        return SingleNetwork(
            label_loss=self._label_loss(store),
            label_weight=self.label_weight,
            terms=[self._term(store, lesson) for lesson in self.lessons],
            feature_terms=[
                FeatureTerm(
                    lesson.loss, lesson.weight, store.module(lesson.teacher), _classes(store, lesson.teacher), classes
                )
                for lesson in self.feature_lessons
            ],
            **tie,
        )

    def _label_loss(self, store: ModelStore) -> Loss:
        recipe = self.recipe(store)
        return self.margin.label_loss(store.classes, recipe.label_smoothing) if self.margin else recipe.label_loss

    def _term(self, store: ModelStore, lesson: Lesson) -> LogitTerm:
        if lesson.online:
            teachers = tuple(store.module(teacher) for teacher in lesson.teachers)
            return LogitTerm(lesson.loss, lesson.weight, teachers, start=lesson.start)
        samples = store.samples(self.share)
        known = torch.stack([store.logits(teacher, samples) for teacher in lesson.teachers]).mean(dim=0)
        return LogitTerm(lesson.loss, lesson.weight, known=known, start=lesson.start)

    def training_macs(self, store: ModelStore) -> int:
        """Return the multiply-adds of this training alone: per image, three passes of the student, one per teacher.

        Teachers run from the start of their lesson; offline, they run once per sample.
        """
        trainer = store.trainer(self.recipe(store), self.share)
        images = trainer.total_steps * trainer.recipe.batch_size
        total = PASSES_OF_A_STEP * images * store.macs(self)
        for lesson in self.lessons:
            asked = sum(store.macs(teacher) for teacher in lesson.teachers)
            total += trainer.macs(partial(_from, lesson.start, asked)) if lesson.online else len(trainer.split) * asked
        total += images * sum(store.macs(lesson.teacher) for lesson in self.feature_lessons)
        return total + (fisher_macs(store, self.tie.old, self.tie.samples) if self.tie else 0)


def inherit(network: nn.Module, older: nn.Module) -> None:
    """Copy older weights; rows that the older network does not have (added classes) keep their random values."""
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
            f"a model that starts from other weights must have their architecture, got {len(differing)} tensors that "
            f"differ, such as {sorted(differing)[0]}"
        )
    with torch.no_grad():
        for name, tensor in own.items():
            leading_slice(tensor, older_state[name]).copy_(older_state[name])


def _from(start: float, macs: int, _index: int, progress: float) -> int:
    """Return the multiply-adds of a step, which are 0 before ``start``."""
    return macs if start <= progress else 0


def _classes(store: ModelStore, model: Model) -> int:
    """Return the number of classes that a model knows."""
    return share_of(model).classes_of(store.classes)
