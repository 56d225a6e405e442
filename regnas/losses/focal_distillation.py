"""Focal distillation: be like the reference above all where it is right (PCT: Yan et al., CVPR 2021, eq. 7 to 9).

Both forms weight a distance to the reference by alpha + beta * 1[the reference predicts the label].
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from regnas.losses.knowledge_distillation import scaled_divergence
from regnas.losses.limits import require_not_negative, require_positive


def focal_weight(reference: Tensor, targets: Tensor, alpha: float, beta: float) -> Tensor:
    right = reference.argmax(dim=1) == targets  # [N, C] -> [N]
    return alpha + beta * right.to(reference.dtype)


@dataclass(frozen=True)
class FocalDistillationKL:
    """FD-KL: temperature-scaled divergence, weighted more where the reference is right."""

    alpha: float = 1.0
    beta: float = 5.0
    temperature: float = 100.0

    def __post_init__(self) -> None:
        require_not_negative(alpha=self.alpha, beta=self.beta)
        require_positive(temperature=self.temperature)

    def __call__(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        distance = scaled_divergence(logits, reference, self.temperature)  # [N]
        return focal_weight(reference, targets, self.alpha, self.beta) * distance


@dataclass(frozen=True)
class FocalDistillationLM:
    """FD-LM: half the squared distance of the logits, weighted more where the reference is right."""

    alpha: float = 1.0
    beta: float = 5.0

    def __post_init__(self) -> None:
        require_not_negative(alpha=self.alpha, beta=self.beta)

    def __call__(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        distance = 0.5 * (logits - reference).square().sum(dim=1)  # [N, C] -> [N]
        return focal_weight(reference, targets, self.alpha, self.beta) * distance
