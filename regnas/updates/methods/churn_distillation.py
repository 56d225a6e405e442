"""Churn-constrained distillation (Jiang et al., ICLR 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas import losses
from regnas.updates.methods.chain import Chain, lessons
from regnas.updates.methods.tunable import SHARES, tunable
from regnas.updates.models import Model


@dataclass(frozen=True)
class ChurnDistillation:
    """Churn distillation: the target is a mixture of the label and the old model's probabilities.

    -sum_k t_k log softmax(z)_k with t = (1 - a) * onehot(y) + a * p_old, a = ``share``. This minimizes cross-entropy
    subject to a bound on the churn, the mean divergence KL(p_old || p_new) (H. Jiang, H. Narasimhan, D. Bahri, A.
    Cotter and A. Rostamizadeh: Churn Reduction via Distillation, ICLR 2022, arXiv 2106.02654). The Lagrangian
    CE + lambda * KL, divided by 1 + lambda, is this loss with a = lambda / (1 + lambda), except for the entropy of
    p_old, which is constant. Every bound has such an a. Samples of a class that the old model does not know have no
    churn.
    """

    share: float = tunable(0.5, SHARES)

    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ValueError(f"share must be between 0 and 1, got {self.share}. It is the part of the old model.")

    @property
    def title(self) -> str:
        return f"Churn distillation (a = {self.share:g})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        divergence = losses.KnowledgeDistillation(temperature=1.0)
        return chain.targeted(
            lambda stage, previous, references: stage.train(
                previous, label_weight=1 - self.share, lessons=lessons(divergence, self.share, references)
            )
        )
