"""Logit difference inhibition, the loss of ELODI (Zhao et al., eq. 5 and 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from regnas.losses.known_classes import known_logits
from regnas.losses.per_sample import PerSampleLoss, require_not_negative, require_positive


@dataclass(frozen=True)
class LogitDifferenceInhibition(PerSampleLoss):
    """LDI: mean over the reference's K highest classes of max(0, |logit - reference logit| - margin)^p.

    The paper prints a sum over the classes; its authors used a mean over K classes without the class of the label, with
    margin 0 toward an ensemble and 0.5 toward a single model. ``exclude_target`` leaves the label's class out; the K
    highest are then chosen among the other classes.
    """

    mixes_labels: ClassVar[bool] = True

    power: float = 2.0
    top_k: int = 10
    margin: float = 0.0
    exclude_target: bool = True

    def __post_init__(self) -> None:
        require_positive(power=self.power)
        require_not_negative(margin=self.margin)
        if self.top_k < 1:
            raise ValueError(f"top_k must be 1 or above, got {self.top_k}")

    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        candidates = reference.detach()  # [N, K]
        available = reference.shape[1]
        if self.exclude_target and available > 1:
            candidates = candidates.scatter(1, targets.unsqueeze(1), -torch.inf)
            available -= 1
        classes = candidates.topk(min(self.top_k, available), dim=1).indices  # [N, K] -> [N, k]
        difference = (known_logits(logits, reference) - reference).gather(1, classes)  # [N, K] -> [N, k]
        return (difference.abs() - self.margin).clamp(min=0).pow(self.power).mean(dim=1)  # [N, k] -> [N]
