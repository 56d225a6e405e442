"""Losses on features: what the classifier reads, held against the old model's features or its classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Embedding:
    """What the old model makes of a batch, and the linear classifier that reads it."""

    features: Tensor  # [N, D] what the classifier reads
    weight: Tensor  # [C, D] of the linear classifier
    bias: Tensor  # [C]


class FeatureLoss(Protocol):
    """A loss for each sample, not yet averaged.

    ``features`` [N, D'] are the network's, ``reference`` is the embedding it shall be compatible with.
    """

    def __call__(self, features: Tensor, targets: Tensor, reference: Embedding) -> Tensor: ...


def match(features: Tensor, width: int) -> Tensor:
    """The first ``width`` features, padded with zeros where there are fewer: [N, D'] -> [N, width].

    So networks of different widths are compared without further weights.
    """
    return F.pad(features[:, :width], (0, max(0, width - features.shape[1])))
