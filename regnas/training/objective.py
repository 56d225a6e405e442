"""What one step minimises, and how a step of a supernet does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from regnas.losses import KnowledgeDistillation, Loss
from regnas.runtime.randomness import Key, chooser
from regnas.space import Architecture, EvenSampler, SearchSpace


@dataclass(frozen=True)
class Step:
    """Where in the training a batch stands."""

    images: Tensor
    targets: Tensor
    indices: Tensor  # of the samples in the training split
    index: int
    progress: float


class Objective(Protocol):
    def __call__(self, model: nn.Module, step: Step) -> Tensor:
        """The loss of the step, a scalar."""
        ...


@dataclass(frozen=True)
class Congruence:
    """The positive-congruent term between the sub-networks of a step.

    ``reference`` says whom a sub-network shall not contradict: ``smaller``, the next smaller one of the step, or
    ``mean``, the mean logits of all of them, an ensemble that costs nothing. The references are never pulled. The
    weight rises linearly from 0 at ``start`` to its full value at ``full``, both as parts of the training.
    """

    loss: Loss
    weight: float = 1.0
    reference: Literal["smaller", "mean"] = "smaller"
    start: float = 0.25
    full: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.full <= 1:
            raise ValueError("start and full are parts of the training: 0 <= start <= full <= 1")

    def weight_at(self, progress: float) -> float:
        if progress < self.start:
            return 0.0
        return self.weight * min(1.0, (progress - self.start) / max(self.full - self.start, 1e-9))

    def term(self, ordered_logits: Sequence[Tensor], targets: Tensor) -> Tensor:
        """``ordered_logits`` from the smallest sub-network to the largest."""
        detached = [logits.detach() for logits in ordered_logits]
        if self.reference == "mean":
            mean = mean_logits(detached)
            pairs = [(logits, mean) for logits in ordered_logits]
        else:
            pairs = list(zip(ordered_logits[1:], detached, strict=False))
        return torch.stack([self.loss(logits, targets, reference).mean() for logits, reference in pairs]).sum()


@dataclass(frozen=True)
class Sandwich:
    """The sandwich rule (Yu and Huang, 2019) with in-place distillation.

    Every step trains the largest, the smallest and ``random`` sub-networks in between; all but the largest are also
    distilled to the largest one's logits of the same batch.
    """

    random: int = 2
    distillation: float = 1.0
    distillation_loss: Loss = field(default_factory=KnowledgeDistillation)
    congruence: Congruence | None = None


class SupernetObjective:
    """The sandwich rule on a space; draws are keyed by the step, so that a resumed training repeats them."""

    def __init__(self, space: SearchSpace, rule: Sandwich, label_loss: Loss, key: tuple[Key, ...]) -> None:
        self.rule = rule
        self.label_loss = label_loss
        self.key = key
        self._cost: Callable[[Architecture], int] = lambda architecture: space.cost(architecture).macs
        self._largest, self._smallest = space.largest, space.smallest
        self._draws = EvenSampler(space)

    def architectures(self, step_index: int) -> list[Architecture]:
        """From the largest to the smallest."""
        random = chooser(*self.key, "architectures", step_index)
        between = [self._draws.sample(random) for _ in range(self.rule.random)]
        return [self._largest, *sorted(between, key=self._cost, reverse=True), self._smallest]

    def __call__(self, model: nn.Module, step: Step) -> Tensor:
        # In full precision: squared and exponentiated differences do not bear the half of it.
        logits = [model(step.images, architecture).float() for architecture in self.architectures(step.index)]
        total = torch.stack([self.label_loss(own, step.targets, own).mean() for own in logits]).sum()
        if self.rule.distillation:
            teacher = logits[0].detach()
            lessons = [self.rule.distillation_loss(own, step.targets, teacher).mean() for own in logits[1:]]
            total = total + self.rule.distillation * torch.stack(lessons).sum()
        congruence = self.rule.congruence
        if congruence is not None and (weight := congruence.weight_at(step.progress)) > 0:
            total = total + weight * congruence.term(logits[::-1], step.targets)
        return total / len(logits)


def mean_logits(logits: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(logits)).mean(dim=0)  # [M, N, C] -> [N, C]
