"""What one step minimizes, and how a step of a supernet does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.func import functional_call

from regnas.losses import Loss
from regnas.runtime.randomness import Key, chooser
from regnas.space import Architecture, EvenSampler, SearchSpace
from regnas.training.curriculum import Curriculum, TeachingTerm
from regnas.training.sub_networks import LossOf
from regnas.training.teachers import StepAnswers, mean_logits

PASSES_OF_A_STEP = 3  # forward, and backward to the activations and to the weights


@dataclass(frozen=True)
class Step:
    """Where in the training a batch stands."""

    images: Tensor
    targets: Tensor
    indices: Tensor  # of the samples in the training split
    index: int
    progress: float
    averaged: Mapping[str, Tensor] = field(default_factory=dict)  # of the weights over the steps
    mean_over: Callable[[float], float] = float  # all processes, where several take the step together


class Objective(Protocol):
    def __call__(self, model: nn.Module, step: Step) -> Tensor:
        """The loss of the step, a scalar."""
        ...


@runtime_checkable
class MovesWeights(Objective, Protocol):
    """An objective that also moves the weights itself, outside of the loss, its gradient and the clipping."""

    def after_step(self, model: nn.Module, learning_rate: float) -> None:
        """Called after every step of the optimizer. A function of the weights alone: each process does the same."""
        ...


class SupernetObjective:
    """A curriculum on a space; draws are keyed by the step, so that a resumed training repeats them.

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

    def architectures(self, index: int, progress: float, loss_of: LossOf) -> list[Architecture]:
        """From the largest to the smallest, none of them twice."""
        random = chooser(*self.key, "architectures", index)
        space, even = self._phase(self.curriculum.shrinking.phase(progress))
        return list(dict.fromkeys(self.curriculum.sub_networks.draw(space, even, random, loss_of)))

    def macs_of(self, index: int, progress: float) -> int:
        """Multiply-adds of a step for each image; where losses choose the sub-networks, as if chance did."""
        drawn = self.architectures(index, progress, loss_of=lambda _: 0.0)
        macs = [self.space.cost(architecture).macs for architecture in drawn]
        teaching = sum(lesson.teacher.passes for lesson in self._lessons_at(progress).values())
        tried = self.curriculum.sub_networks.tried * sum(macs) // len(macs)
        return (PASSES_OF_A_STEP + teaching) * sum(macs) + tried

    def __call__(self, model: nn.Module, step: Step) -> Tensor:
        architectures = self.architectures(step.index, step.progress, partial(self._label_loss_of, model, step))
        # In full precision: squared and exponentiated differences do not bear the half of it.
        logits = [model(step.images, architecture).float() for architecture in architectures]
        total = torch.stack([self.label_loss(own, step.targets, own).mean() for own in logits]).sum()
        answers = StepAnswers(
            [own.detach() for own in logits],
            averaged=lambda: _logits(_with_weights(model, step.averaged), step, architectures),
            ensemble=lambda: self._ensemble(step, architectures),
        )
        for lesson in self._lessons_at(step.progress).values():
            taught = [
                lesson.loss(own, step.targets, reference).mean()
                for own, reference in zip(logits, lesson.teacher.references(answers), strict=True)
                if reference is not None
            ]
            if taught:  # a single network has nobody to learn from
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
        # Of all processes: or each would choose other sub-networks than the rest.
        return step.mean_over(float(self.label_loss(logits, step.targets, logits).mean()))

    def _ensemble(self, step: Step, architectures: Sequence[Architecture]) -> list[Tensor]:
        each = [_logits(supernet, step, architectures) for supernet in self._supernets_before]
        return [mean_logits(own) for own in zip(*each, strict=True)]


@torch.no_grad()
def _logits(supernet: Callable[..., Tensor], step: Step, architectures: Sequence[Architecture]) -> list[Tensor]:
    return [supernet(step.images, architecture).float() for architecture in architectures]


def _with_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> Callable[..., Tensor]:
    return lambda *arguments: functional_call(model, dict(weights), arguments)
