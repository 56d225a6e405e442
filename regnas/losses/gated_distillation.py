"""Distillation only if the network is wrong, or only if it is correct: MUSCLE (Echterhoff et al., EMNLP 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from regnas.losses.knowledge_distillation import scaled_divergence
from regnas.losses.per_sample import PerSampleLoss, require_positive


@dataclass(frozen=True)
class GatedDistillation(PerSampleLoss):
    """Temperature-scaled divergence only if the network itself is wrong (or only if it is correct).

    1[argmax_k z_k != y] * tau^2 * KL(softmax(r / tau) || softmax(z / tau)), with z the network's logits, r the
    reference's, y the label and tau the temperature; ``where = "right"`` inverts the gate. The gate uses all
    classes of the network, the divergence only those that both know. The gate passes no gradient. The method is a sum
    of two: toward the old model if the network is wrong, and toward an ordinary new model if it is correct.
    """

    where: Literal["right", "wrong"] = "wrong"
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if self.where not in ("right", "wrong"):
            raise ValueError(f'where must be "right" or "wrong", got "{self.where}"')
        require_positive(temperature=self.temperature)

    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        right = logits.argmax(dim=1) == targets  # [N, C] -> [N]
        gate = right if self.where == "right" else ~right
        return gate * scaled_divergence(logits, reference, self.temperature)  # [N]
