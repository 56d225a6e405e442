"""Cross-entropy with the labels."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class CrossEntropy:
    """Cross-entropy with the labels; looks at no reference."""

    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing is {self.label_smoothing}: it has to be 0 or above, and below 1")

    def __call__(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        return F.cross_entropy(logits, targets, reduction="none", label_smoothing=self.label_smoothing)  # [N]
