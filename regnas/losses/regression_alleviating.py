"""Regression-alleviating compatible training (RACT: Zhang et al., ICLR 2022)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from regnas.losses.features import Embedding, PerSampleFeatureLoss, match
from regnas.losses.per_sample import require_positive


@dataclass(frozen=True)
class RegressionAlleviating(PerSampleFeatureLoss):
    """RACT: pull each sample toward its own old features, and away from features of other classes, old and new.

    -log(e_i / (e_i + sum_k exp(<f_i, r_k> / t) + sum_k exp(<f_i, f_k> / t))), where e_i = exp(<f_i, r_i> / t) and
    both sums run over the samples k of the batch with another label than i. f are the new features at the old
    width, r the old ones, both of length 1, and t is the temperature. The old features pass no gradient.
    """

    temperature: float = 0.05

    def __post_init__(self) -> None:
        require_positive(temperature=self.temperature)

    def per_sample(self, features: Tensor, targets: Tensor, reference: Embedding) -> Tensor:
        old = F.normalize(reference.features.detach(), dim=1)  # [N, D]
        new = F.normalize(match(features, old.shape[1]), dim=1)  # [N, D'] -> [N, D]
        positive = (new * old).sum(dim=1) / self.temperature  # [N, D] -> [N]
        same_label = targets.unsqueeze(1) == targets  # [N, 1], [N] -> [N, N]
        to_old = (new @ old.T / self.temperature).masked_fill(same_label, -torch.inf)  # [N, N]
        to_new = (new @ new.T / self.temperature).masked_fill(same_label, -torch.inf)  # [N, N]
        every = torch.cat([positive.unsqueeze(1), to_old, to_new], dim=1)  # [N, 1 + 2 N]
        return every.logsumexp(dim=1) - positive  # [N, 1 + 2 N] -> [N]
