"""Losses on features (the input of the classifier) against the features or the classifier of the old model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch.nn.functional as F
from torch import Tensor

from regnas.losses.per_sample import Reduction, reduce


@dataclass(frozen=True)
class Embedding:
    """The features of a batch in the old model, and the linear classifier on top of them."""

    features: Tensor  # [N, D] the input of the classifier
    weight: Tensor  # [C, D] of the linear classifier
    bias: Tensor  # [C]


class FeatureLoss(Protocol):
    """A loss per sample, [N].

    ``features`` [N, D'] are those of the network, ``reference`` is the embedding that it must be compatible with.
    """

    def __call__(self, features: Tensor, targets: Tensor, reference: Embedding) -> Tensor: ...


class PerSampleFeatureLoss(ABC):
    """A loss on features: a frozen dataclass that defines ``per_sample``."""

    mixes_labels: ClassVar[bool] = False  # as of PerSampleLoss

    def __call__(
        self, features: Tensor, targets: Tensor, reference: Embedding, reduction: Reduction = "none"
    ) -> Tensor:
        """Return the loss.

        Args:
            features: [N, D'], the input of the classifier in the network that is trained.
            targets: [N], the classes of the samples.
            reference: the features [N, D] of the old model, and its classifier.
            reduction: "none", "mean" or "sum".

        Returns:
            [N] without reduction, else a scalar.
        """
        if features.ndim != 2 or targets.ndim != 1 or not len(features) == len(targets) == len(reference.features):
            raise ValueError(
                "features must be [N, D'], targets [N] and reference.features [N, D], got "
                f"{list(features.shape)}, {list(targets.shape)} and {list(reference.features.shape)}"
            )
        return reduce(self.per_sample(features, targets, reference), reduction)

    @abstractmethod
    def per_sample(self, features: Tensor, targets: Tensor, reference: Embedding) -> Tensor:
        """Return the loss of each sample: [N]."""


def match(features: Tensor, width: int) -> Tensor:
    """Return the first ``width`` features, padded with zeros if there are fewer: [N, D'] -> [N, width].

    Networks of different widths are compared in this way, without additional weights.
    """
    return F.pad(features[:, :width], (0, max(0, width - features.shape[1])))
