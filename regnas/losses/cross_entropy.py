"""Cross-entropy with the labels."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from regnas.losses.per_sample import PerSampleLoss


@dataclass(frozen=True)
class CrossEntropy(PerSampleLoss):
    """Cross-entropy with the labels; the reference is not used."""

    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing must be 0 or above and below 1, got {self.label_smoothing}")

    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        return F.cross_entropy(logits, targets, reduction="none", label_smoothing=self.label_smoothing)  # [N]
