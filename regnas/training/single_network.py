"""The loss of a single network: labels, frozen teachers, ties to older weights."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor, nn

from regnas.losses import CrossEntropy, Embedding, FeatureLoss, Loss, needs_single_labels, on_known_classes
from regnas.networks import captured_features, classifier_of
from regnas.training.objective import Step
from regnas.training.teachers import mean_logits
from regnas.training.ties import DecayToward, Mixing, QuadraticPenalty


@dataclass(frozen=True)
class LogitTerm:
    """weight * loss(network; mean logits of frozen teachers), averaged over the batch.

    The teachers run on the student's own batch, including augmentation, without gradients. Offline, ``known`` holds
    their logits on the training samples without augmentation. ``start`` is the progress of the training, from 0 to 1,
    at which the term begins; before it, the teachers do not run.
    """

    loss: Loss
    weight: float
    teachers: tuple[nn.Module, ...] = ()
    known: Tensor | None = None  # [samples of the training split, C]
    start: float = 0.0

    @torch.no_grad()
    def reference(self, step: Step) -> Tensor:
        if self.known is not None:
            return self.known[step.indices].to(step.images.device)  # [N, C]
        return mean_logits([teacher(step.images).float() for teacher in self.teachers])

    def __call__(self, logits: Tensor, step: Step, reference: Tensor) -> Tensor:
        return self.weight * step.mean_loss(partial(on_known_classes, self.loss), logits, reference)


@dataclass(frozen=True)
class FeatureTerm:
    """weight * loss(features of the network; features and classifier of a frozen teacher), averaged over the batch."""

    loss: FeatureLoss
    weight: float
    teacher: nn.Module
    teacher_classes: int
    classes: int  # of the trained network

    @torch.no_grad()
    def reference(self, step: Step) -> Embedding:
        with captured_features(self.teacher, self.teacher_classes) as read:
            self.teacher(step.images)
            features = read().float()
        classifier = classifier_of(self.teacher, self.teacher_classes)
        bias = classifier.bias if classifier.bias is not None else classifier.weight.new_zeros(self.teacher_classes)
        return Embedding(features, classifier.weight.detach(), bias.detach())

    def __call__(self, features: Tensor, step: Step, reference: Embedding) -> Tensor:
        return self.weight * step.mean_loss(self.loss, features, reference)


@dataclass(frozen=True)
class SingleNetwork:
    """label_weight * cross-entropy + all terms + penalty; with ``mixing`` the weights of a step are mixed first.

    ``label_weight`` is the weight of the labels beside the terms. Until the first term starts, the labels count with
    weight 1.
    """

    label_loss: Loss = field(default_factory=CrossEntropy)
    label_weight: float = 1.0
    terms: Sequence[LogitTerm] = ()
    feature_terms: Sequence[FeatureTerm] = ()
    penalty: QuadraticPenalty | None = None
    mixing: Mixing | None = None
    decay: DecayToward | None = None

    @property
    def is_one_graph(self) -> bool:
        """Whether every step calls the network unchanged, without hooks and without replaced weights."""
        return not self.feature_terms and self.mixing is None

    @property
    def single_labels(self) -> str:
        if any(term.known is not None for term in self.terms):
            return "a teacher whose logits are known before"
        taught: list[object] = [
            *(term.loss for term in self.terms),
            *(term.loss for term in self.feature_terms),
        ]
        return needs_single_labels([self.label_loss, *taught])

    def __call__(self, model: nn.Module, step: Step) -> Tensor:
        # The teachers run first, so that their memory is freed before the student needs it.
        terms = [term for term in self.terms if term.start <= step.progress]
        references = [term.reference(step) for term in terms]
        embeddings = [term.reference(step) for term in self.feature_terms]
        with ExitStack() as stack:
            read = None
            if self.feature_terms:
                read = stack.enter_context(captured_features(model, self.feature_terms[0].classes))
            # In full precision: squares and exponentials of differences are not accurate in half precision.
            logits = (self.mixing.run(model, step) if self.mixing else model(step.images)).float()
            features = read().float() if read else None
        values = [term(logits, step, known) for term, known in zip(terms, references, strict=True)]
        if features is not None:
            values += [term(features, step, known) for term, known in zip(self.feature_terms, embeddings, strict=True)]
        all_to_start = bool(self.terms) and not terms and not self.feature_terms
        label_weight = 1.0 if all_to_start else self.label_weight
        if label_weight:
            values.append(label_weight * step.mean_loss(self.label_loss, logits, logits))
        if self.penalty:
            values.append(self.penalty(model))
        return torch.stack(values).sum()

    def after_step(self, model: nn.Module, learning_rate: float) -> None:
        if self.decay:
            self.decay(model, learning_rate)
