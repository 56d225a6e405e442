"""Backward-compatible training (BCT: Shen et al., CVPR 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from regnas.losses.features import Embedding, PerSampleFeatureLoss, match
from regnas.losses.known_classes import spread


@dataclass(frozen=True)
class BackwardCompatible(PerSampleFeatureLoss):
    """BCT: cross-entropy with the labels of the old model's fixed classifier on the new features.

    -log softmax(W f + b)_y, with f the new features at the old width, W and b the old classifier and y the label;
    0 if y is a class that the old classifier does not have.
    """

    mixes_labels: ClassVar[bool] = True

    def per_sample(self, features: Tensor, targets: Tensor, reference: Embedding) -> Tensor:
        classes, width = reference.weight.shape
        known = targets < classes  # [N]
        own = match(features[known], width)  # [N, D'] -> [M, D'] -> [M, D]
        logits = F.linear(own, reference.weight.detach(), reference.bias.detach())  # [M, D] -> [M, C]
        return spread(F.cross_entropy(logits, targets[known], reduction="none"), known)  # [M] -> [N]
