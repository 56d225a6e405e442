"""Train several networks with separate weights side by side on the same batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from regnas.losses import CrossEntropy, Loss, SymmetricDivergence, needs_single_labels
from regnas.training.objective import Step
from regnas.training.teachers import mean_logits


class SideBySide(nn.Module):
    """Run every network on the same images."""

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def forward(self, images: Tensor) -> list[Tensor]:
        # In full precision, for squares and exponentials of differences.
        return [network(images).float() for network in self.networks]  # M of [N, C]


@dataclass(frozen=True)
class PulledToMean:
    """sum_i (cross-entropy of z_i + weight * loss(z_i; mean_j z_j)), averaged over the batch.

    The sum, not the mean, over the M networks: each gets the gradient that it would get alone, plus its own term. No
    gradient passes through the mean. Before the fraction ``start`` of the training the second term is off.
    """

    loss: Loss
    weight: float
    start: float = 0.0
    label_loss: Loss = field(default_factory=CrossEntropy)

    @property
    def single_labels(self) -> str:
        return needs_single_labels([self.label_loss, self.loss])

    def __call__(self, model: nn.Module, step: Step) -> Tensor:
        logits: list[Tensor] = model(step.images)
        values = [step.mean_loss(self.label_loss, own, own) for own in logits]
        if step.progress >= self.start:
            mean = mean_logits([own.detach() for own in logits])  # [N, C]
            values += [self.weight * step.mean_loss(self.loss, own, mean) for own in logits]
        return torch.stack(values).sum()


@dataclass(frozen=True)
class TwinBootstraps:
    """Two networks, each on its own bootstrap, with the divergence between them (Prastalo and Jablonka, 2026).

    mean_n (a_n * CE(z_A) + b_n * CE(z_B) + weight * (a_n + b_n) / 2 * symKL(z_A, z_B)), where a_n and b_n count how
    often the bootstraps A and B draw sample n. The paper draws a batch from each bootstrap and runs both networks on
    both. Weighting each sample by its count gives the same expected loss with half of the passes.
    """

    weight: float
    counts: Tensor  # [2, samples of the training split]
    label_loss: Loss = field(default_factory=CrossEntropy)
    divergence: Loss = field(default_factory=SymmetricDivergence)

    def __call__(self, model: nn.Module, step: Step) -> Tensor:
        logits: list[Tensor] = model(step.images)
        counts = self.counts[:, step.indices].to(step.images.device)  # [2, N]
        labels = torch.stack([self.label_loss(own, step.targets, own) for own in logits])  # [2, N]
        apart = self.divergence(logits[0], step.targets, logits[1])  # [N]
        return (counts * labels).sum(dim=0).mean() + self.weight * (counts.mean(dim=0) * apart).mean()
