"""The naive baseline of positive-congruent training (PCT: Yan et al., CVPR 2021, eq. 6)."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from regnas.losses.per_sample import PerSampleLoss


@dataclass(frozen=True)
class Naive(PerSampleLoss):
    """Naive: cross-entropy with the labels once more, if the reference is correct.

    1[argmax_k r_k = y] * -log softmax(z)_y, with z the network's logits, r the reference's and y the label.
    """

    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        reference_correct = reference.argmax(dim=1) == targets  # [N, C] -> [N]
        return reference_correct * F.cross_entropy(logits, targets, reduction="none")  # [N]
