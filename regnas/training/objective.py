"""The loss of a training step, and that of a supernet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn
from torch.func import functional_call

from regnas.augmentations import MixedLabels
from regnas.losses import Embedding, Loss, needs_single_labels
from regnas.runtime.randomness import Key, chooser
from regnas.space import Architecture, EvenSampler, SearchSpace
from regnas.training.curriculum import Curriculum, TeachingTerm
from regnas.training.sub_networks import LossOf
from regnas.training.teachers import StepAnswers, mean_logits

Reference = TypeVar("Reference", Tensor, Embedding)

PASSES_OF_A_STEP = 3  # forward, and backward to the activations and to the weights


@dataclass(frozen=True)
class Step:
    """A batch and its position in the training."""

    images: Tensor
    targets: Tensor
    indices: Tensor  # of the samples in the training split
    index: int
    progress: float
    averaged: Mapping[str, Tensor] = field(default_factory=dict)  # moving average of the weights
    mean_over: Callable[[float], float] = float  # over all processes of a shared step
    mixed: MixedLabels | None = None  # if the images are mixed with partners; ``targets`` are then the own labels

    def mean_loss(
        self, loss: Callable[[Tensor, Tensor, Reference], Tensor], own: Tensor, reference: Reference
    ) -> Tensor:
        """Return the mean over the batch of loss(own, labels, reference) [N]; of mixed images, over both labels."""
        value = loss(own, self.targets, reference).mean()
        if self.mixed is None:
            return value
        return torch.lerp(loss(own, self.mixed.partners, reference).mean(), value, self.mixed.share)


class Objective(Protocol):
    """The loss of a step.

    An objective that takes images that were mixed from two has the attribute ``single_labels``: the name of a part that
    needs the labels of single images, or "".
    """

    def __call__(self, model: nn.Module, step: Step) -> Tensor:
        """Return the loss of the step, a scalar."""
        ...


@runtime_checkable
class MovesWeights(Objective, Protocol):
    """An objective that also changes the weights directly, independent of loss, gradient and clipping."""

    def after_step(self, model: nn.Module, learning_rate: float) -> None:
        """Change the weights after a step of the optimizer. Depends on the weights alone: the same in every process."""
        ...


class SupernetObjective:
    """A curriculum on a space; draws are keyed by the step, so a resumed training repeats them.

    1 / K * sum over the step's K sub-networks of (label loss + sum over lessons of weight * loss to the teacher).
    """

    def __init__(
        self,
        space: SearchSpace,
        curriculum: Curriculum,
        label_loss: Loss,
        key: tuple[Key, ...],
        supernets_before: Sequence[nn.Module] = (),
    ) -> None:
        self.curriculum = curriculum
        self.label_loss = label_loss
        self.key = key
        self.space = space
        self._supernets_before = supernets_before
        self._phase = cache(self._prepared)

    @property
    def single_labels(self) -> str:
        return needs_single_labels([self.label_loss, *(lesson.loss for lesson in self.curriculum.lessons.values())])

    def architectures(self, index: int, progress: float, loss_of: LossOf) -> list[Architecture]:
        """Return the sub-networks from the largest to the smallest, without repetition."""
        random = chooser(*self.key, "architectures", index)
        space, even = self._phase(self.curriculum.shrinking.phase(progress))
        return list(dict.fromkeys(self.curriculum.sub_networks.draw(space, even, random, loss_of)))

    def macs_of(self, index: int, progress: float) -> int:
        """Return the multiply-adds of a step per image; if losses choose the sub-networks, as if drawn at random."""
        drawn = self.architectures(index, progress, loss_of=lambda _: 0.0)
        macs = [self.space.cost(architecture).macs for architecture in drawn]
        teaching = sum(lesson.teacher.passes for lesson in self._lessons_at(progress).values())
        tried = self.curriculum.sub_networks.tried * sum(macs) // len(macs)
        return (PASSES_OF_A_STEP + teaching) * sum(macs) + tried

    def __call__(self, model: nn.Module, step: Step) -> Tensor:
        architectures = self.architectures(step.index, step.progress, partial(self._label_loss_of, model, step))
        # In full precision: squares and exponentials of differences are not accurate in half precision.
        logits = [model(step.images, architecture).float() for architecture in architectures]
        total = torch.stack([step.mean_loss(self.label_loss, own, own) for own in logits]).sum()
        answers = StepAnswers(
            [own.detach() for own in logits],
            averaged=lambda: _logits(_with_weights(model, step.averaged), step, architectures),
            ensemble=lambda: self._ensemble(step, architectures),
        )
        for lesson in self._lessons_at(step.progress).values():
            taught = [
                step.mean_loss(lesson.loss, own, reference)
                for own, reference in zip(logits, lesson.teacher.references(answers), strict=True)
                if reference is not None
            ]
            if taught:  # a single network has no teacher
                total = total + lesson.weight_at(step.progress) * torch.stack(taught).sum()
        return total / len(logits)

    def _lessons_at(self, progress: float) -> dict[str, TeachingTerm]:
        return {name: lesson for name, lesson in self.curriculum.lessons.items() if lesson.weight_at(progress) > 0}

    def _prepared(self, phase: int) -> tuple[SearchSpace, EvenSampler]:
        space = self.curriculum.shrinking.space(self.space, phase)
        return space, EvenSampler(space)

    @torch.no_grad()
    def _label_loss_of(self, model: nn.Module, step: Step, architecture: Architecture) -> float:
        logits = model(step.images, architecture).float()
        # Over all processes, so that all choose the same sub-networks.
        return step.mean_over(float(step.mean_loss(self.label_loss, logits, logits)))

    def _ensemble(self, step: Step, architectures: Sequence[Architecture]) -> list[Tensor]:
        each = [_logits(supernet, step, architectures) for supernet in self._supernets_before]
        return [mean_logits(own) for own in zip(*each, strict=True)]


@torch.no_grad()
def _logits(supernet: Callable[..., Tensor], step: Step, architectures: Sequence[Architecture]) -> list[Tensor]:
    return [supernet(step.images, architecture).float() for architecture in architectures]


def _with_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> Callable[..., Tensor]:
    return lambda *arguments: functional_call(model, dict(weights), arguments)
