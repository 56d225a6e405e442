"""Distillation to a reference, with equal weight for all samples (Hinton, Vinyals and Dean, 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from regnas.losses.known_classes import known_logits
from regnas.losses.per_sample import PerSampleLoss, require_positive


def scaled_divergence(logits: Tensor, reference: Tensor, temperature: float) -> Tensor:
    """Return tau^2 * KL(softmax(reference / tau) || softmax(logits / tau)) over the classes that both know: [N].

    The factor tau^2 keeps the size of the gradients as at tau = 1. For large tau the result approaches half the mean
    over the classes of the squared distance of the centered logits, so it does not grow with their number.
    """
    divergence = F.kl_div(
        F.log_softmax(known_logits(logits, reference) / temperature, dim=1),
        F.log_softmax(reference / temperature, dim=1),
        reduction="none",
        log_target=True,
    )
    return temperature**2 * divergence.sum(dim=1)  # [N, C] -> [N]


@dataclass(frozen=True)
class KnowledgeDistillation(PerSampleLoss):
    """Temperature-scaled divergence from the reference, with equal weight for all samples."""

    mixes_labels: ClassVar[bool] = True

    temperature: float = 1.0

    def __post_init__(self) -> None:
        require_positive(temperature=self.temperature)

    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        return scaled_divergence(logits, reference, self.temperature)
