"""The naive baseline of positive-congruent training (PCT: Yan et al., CVPR 2021, eq. 6)."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Naive:
    """Naive: cross-entropy with the labels once more, where the reference is right.

    1[argmax_k r_k = y] * -log softmax(z)_y, with z the network's logits, r the reference's and y the label.
    """

    def __call__(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        reference_right = reference.argmax(dim=1) == targets  # [N, C] -> [N]
        return reference_right * F.cross_entropy(logits, targets, reduction="none")  # [N]
