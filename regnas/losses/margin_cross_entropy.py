"""Cross-entropy with a margin between old and added classes (MPT: Ricci et al., AAAI 2026)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from regnas.losses.per_sample import PerSampleLoss, require_not_negative, require_smoothing


@dataclass(frozen=True)
class MarginCrossEntropy(PerSampleLoss):
    """Cross-entropy on logits that are raised by ``bias`` for added classes; the reference is not used.

    -log softmax(z + b * a)_y, with z the network's logits, y the label, b the bias, and a_k = 0 for the first
    ``known_classes`` and 1 for the classes after them. During training, an old class must exceed the added classes by
    b. At inference, b is absent. If all classes are known, or none, b changes nothing.
    """

    mixes_labels: ClassVar[bool] = True

    bias: float = 2.0
    known_classes: int = 0
    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        require_not_negative(bias=self.bias, known_classes=self.known_classes)
        require_smoothing(self.label_smoothing)

    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        added = torch.arange(logits.shape[1], device=logits.device) >= self.known_classes  # [C]
        raised = logits + self.bias * added.to(logits.dtype)  # [N, C] + [C] -> [N, C]
        return F.cross_entropy(raised, targets, reduction="none", label_smoothing=self.label_smoothing)  # [N, C] -> [N]
