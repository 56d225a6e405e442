"""Cross-entropy with the labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from regnas.losses.per_sample import PerSampleLoss, require_smoothing


@dataclass(frozen=True)
class CrossEntropy(PerSampleLoss):
    """Cross-entropy with the labels; the reference is not used."""

    mixes_labels: ClassVar[bool] = True

    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        require_smoothing(self.label_smoothing)

    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        return F.cross_entropy(logits, targets, reduction="none", label_smoothing=self.label_smoothing)  # [N]
