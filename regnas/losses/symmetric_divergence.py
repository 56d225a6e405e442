"""The divergence of two networks from each other, for training both of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from regnas.losses.per_sample import PerSampleLoss


@dataclass(frozen=True)
class SymmetricDivergence(PerSampleLoss):
    """Mean of the two divergences between the network and the reference, with equal weight for all samples.

    (KL(p || q) + KL(q || p)) / 2 = sum_k (p_k - q_k) * (log p_k - log q_k) / 2, with p = softmax(z), q = softmax(r), z
    the network's logits on the classes that the reference knows and r the reference's.
    """

    mixes_labels: ClassVar[bool] = True

    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        own = F.log_softmax(logits[:, : reference.shape[1]], dim=1)  # [N, C] -> [N, K]
        other = F.log_softmax(reference, dim=1)  # [N, K]
        return 0.5 * ((own.exp() - other.exp()) * (own - other)).sum(dim=1)  # [N, K] -> [N]
