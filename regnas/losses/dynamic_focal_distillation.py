"""Distillation only if the network is behind its reference (Xie et al., ACL 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from regnas.losses.knowledge_distillation import scaled_divergence
from regnas.losses.per_sample import PerSampleLoss, require_positive


@dataclass(frozen=True)
class DynamicFocalDistillation(PerSampleLoss):
    """Dynamic FD: temperature-scaled divergence if the reference gives the label more probability.

    1[p_r(y) > p_z(y)] * tau^2 * KL(softmax(r / tau) || softmax(z / tau)), with z the network's logits, r the
    reference's, y the label and tau the temperature. The probabilities p of the gate are at temperature 1 and over all
    classes of each model, including added classes. The gate passes no gradient.
    """

    temperature: float = 1.0

    def __post_init__(self) -> None:
        require_positive(temperature=self.temperature)

    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        # -log p(y) of each: unlike p itself, it still distinguishes two probabilities that are both nearly 0.
        surprise = F.cross_entropy(logits.detach(), targets, reduction="none")  # [N, C] -> [N]
        reference_surprise = F.cross_entropy(reference.detach(), targets, reduction="none")  # [N, C] -> [N]
        return (reference_surprise < surprise) * scaled_divergence(logits, reference, self.temperature)  # [N]
