"""A surrogate of the negative flip rate that has a gradient."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regnas.losses.per_sample import PerSampleLoss, require_positive


@dataclass(frozen=True)
class FlipHinge(PerSampleLoss):
    """Hinge on the margin of samples that the reference predicts correctly.

    1[argmax_k r_k = y] * max(0, m - (z_y - max_{k != y} z_k)) / m, with z the network's logits, r the reference's, y
    the label and m the ``margin``. It is 1 or more for every negative flip, so its mean bounds the negative flip rate
    from above. The maximum is over all of the network's classes, including those that the reference does not know.
    """

    margin: float = 1.0

    def __post_init__(self) -> None:
        require_positive(margin=self.margin)

    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        correct = reference.argmax(dim=1) == targets  # [N, K] -> [N]
        label = targets.unsqueeze(1)  # [N, 1]
        highest_other = logits.scatter(1, label, -torch.inf).amax(dim=1)  # [N, C] -> [N]
        margin = logits.gather(1, label).squeeze(1) - highest_other  # [N]
        return correct * (self.margin - margin).clamp(min=0) / self.margin
