"""Distillation where the network is wrong, or where it is right: the gate of MUSCLE (Echterhoff et al., EMNLP 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from regnas.losses.knowledge_distillation import scaled_divergence
from regnas.losses.limits import require_positive


@dataclass(frozen=True)
class GatedDistillation:
    """Temperature-scaled divergence only where the network itself is wrong (or only where it is right).

    1[argmax_k z_k != y] * tau^2 * KL(softmax(r / tau) || softmax(z / tau)), with z the network's logits, r the
    reference's, y the label and tau the temperature; ``where = "right"`` turns the gate around. The gate looks at all
    classes of the network, the divergence at those that both know; the gate passes no gradient. The method is the sum
    of two: to the old model where the network is wrong, and to the new model that was trained without treatment where
    it is right.
    """

    where: Literal["right", "wrong"] = "wrong"
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if self.where not in ("right", "wrong"):
            raise ValueError(f'where is "{self.where}": it has to be "right" or "wrong"')
        require_positive(temperature=self.temperature)

    def __call__(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        right = logits.argmax(dim=1) == targets  # [N, C] -> [N]
        gate = right if self.where == "right" else ~right
        return gate * scaled_divergence(logits, reference, self.temperature)  # [N]
