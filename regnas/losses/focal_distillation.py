"""Focal distillation: follow the reference more if it is correct (PCT: Yan et al., CVPR 2021, eq. 7 to 9).

Both forms weight a distance to the reference by alpha + beta * 1[the reference predicts the label].
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from regnas.losses.knowledge_distillation import scaled_divergence
from regnas.losses.known_classes import known_logits
from regnas.losses.per_sample import PerSampleLoss, require_not_negative, require_positive


def focal_weight(reference: Tensor, targets: Tensor, alpha: float, beta: float) -> Tensor:
    """Return the weight of each sample [N]: alpha + beta if the reference is correct, else alpha."""
    right = reference.argmax(dim=1) == targets  # [N, C] -> [N]
    return alpha + beta * right.to(reference.dtype)


@dataclass(frozen=True)
class FocalDistillationKL(PerSampleLoss):
    """FD-KL: temperature-scaled divergence, weighted more if the reference is correct."""

    alpha: float = 1.0
    beta: float = 5.0
    temperature: float = 100.0

    def __post_init__(self) -> None:
        require_not_negative(alpha=self.alpha, beta=self.beta)
        require_positive(temperature=self.temperature)

    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        distance = scaled_divergence(logits, reference, self.temperature)  # [N]
        return focal_weight(reference, targets, self.alpha, self.beta) * distance


@dataclass(frozen=True)
class FocalDistillationLM(PerSampleLoss):
    """FD-LM: half the mean squared distance of the logits, weighted more if the reference is correct.

    (alpha + beta 1[argmax_k r_k = y]) / 2 * mean over the K classes of (z_k - r_k)^2, with z the network's logits, r
    the reference's and y the label. The paper prints a sum over the classes; its authors used a mean, which does not
    grow with the number of classes.
    """

    alpha: float = 1.0
    beta: float = 5.0

    def __post_init__(self) -> None:
        require_not_negative(alpha=self.alpha, beta=self.beta)

    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        distance = 0.5 * (known_logits(logits, reference) - reference).square().mean(dim=1)  # [N, K] -> [N]
        return focal_weight(reference, targets, self.alpha, self.beta) * distance
