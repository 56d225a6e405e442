"""BU-CR: Bayesian update by cost ratio (Träuble et al., NeurIPS 2021), as a training target (ELODI: Zhao et al.).

The probabilities of the old model are the prior, those of the new model the likelihood. A prediction changes only if
the evidence for another class outweighs the cost of a negative flip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from regnas.losses.known_classes import known_logits
from regnas.losses.per_sample import PerSampleLoss


def cost_ratio_decision(log_posterior: Tensor, old_prediction: Tensor, cost_ratio: float) -> Tensor:
    """Return the best class k if posterior(k) > cost_ratio * posterior(old prediction), else the old prediction.

    Args:
        log_posterior: [N, C]; the normalization, a constant per sample, may be missing.
        old_prediction: classes [N].
        cost_ratio: the cost of a negative flip relative to the gain of a positive flip.

    Returns:
        Classes [N].
    """
    highest, best = log_posterior.max(dim=1)  # [N, C] -> [N], [N]
    old = log_posterior.gather(1, old_prediction.unsqueeze(1)).squeeze(1)  # [N, C] -> [N, 1] -> [N]
    return torch.where(highest > math.log(cost_ratio) + old, best, old_prediction)  # [N]


@dataclass(frozen=True)
class BayesianUpdate(PerSampleLoss):
    """BU-CR: cross-entropy with the reference's prediction, or with the posterior's if it is far more certain.

    -log softmax(z)_t, with the posterior q_k proportional to softmax(r)_k * softmax(z)_k, the reference's prediction
    o = argmax_k r_k and the target t = argmax_k q_k if max_k q_k > cost_ratio * q_o, else o; z are the network's
    logits, r the reference's. ``cost_ratio`` is the cost of a negative flip relative to the gain of a positive flip. No
    gradient passes through the target, and the labels are not used.
    """

    mixes_labels: ClassVar[bool] = True

    cost_ratio: float = 2.0

    def __post_init__(self) -> None:
        if not self.cost_ratio >= 1:
            raise ValueError(f"cost_ratio must be 1 or above, got {self.cost_ratio}")

    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        likelihood = F.log_softmax(known_logits(logits, reference).detach(), dim=1)  # [N, C] -> [N, K]
        log_posterior = F.log_softmax(reference.detach(), dim=1) + likelihood  # [N, K]
        decision = cost_ratio_decision(log_posterior, reference.argmax(dim=1), self.cost_ratio)  # [N, K] -> [N]
        return F.cross_entropy(logits, decision, reduction="none")  # [N, C] -> [N]
