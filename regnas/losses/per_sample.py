"""The common part of all losses: one value per sample, checks of shapes and fields, and the reduction."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Literal

from torch import Tensor

Reduction = Literal["none", "mean", "sum"]


class PerSampleLoss(ABC):
    """A loss of a network against a reference, such as the model that it replaces.

    A loss is a frozen dataclass that defines ``per_sample``. It has no weights and no state.

    Example:
        >>> import torch
        >>> from regnas.losses import FocalDistillation
        >>> logits = torch.tensor([[2.0, 0.0], [0.0, 1.0]], requires_grad=True)
        >>> reference = torch.tensor([[2.0, 0.0], [1.0, 0.0]])
        >>> loss = FocalDistillation(alpha=1.0, beta=5.0, temperature=1.0)
        >>> loss(logits, torch.tensor([0, 0]), reference).shape
        torch.Size([2])
        >>> loss(logits, torch.tensor([0, 0]), reference, reduction="mean").backward()
    """

    # Whether the loss of an image that was mixed from two (mixup, cutmix) may be the mean of the losses of both labels:
    # yes for cross-entropy, where this is the loss of the mixed label, and for losses that do not compare predictions
    # with the label.
    mixes_labels: ClassVar[bool] = False

    def __call__(self, logits: Tensor, targets: Tensor, reference: Tensor, reduction: Reduction = "none") -> Tensor:
        """Return the loss.

        Args:
            logits: [N, C], those of the network that is trained.
            targets: [N], the classes of the samples as integers.
            reference: [N, C], logits of the reference on the same samples. They get no gradient if they are computed
                under ``torch.no_grad``. A reference that knows only the first K classes is [N, K]; see
                ``on_known_classes`` for samples of the other classes.
            reduction: "none", "mean" or "sum".

        Returns:
            [N] without reduction, else a scalar.

        Raises:
            ValueError: the shapes do not fit, or the reduction is unknown.
        """
        check_shapes(logits, targets, reference)
        return reduce(self.per_sample(logits, targets, reference), reduction)

    @abstractmethod
    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        """Return the loss of each sample: [N, C], [N], [N, C] -> [N]."""


def check_shapes(logits: Tensor, targets: Tensor, reference: Tensor) -> None:
    """Refuse shapes and types that do not fit, without reading the values, which would synchronize a GPU."""
    fits = logits.ndim == 2 and targets.ndim == 1 and reference.ndim == 2
    fits = fits and logits.shape[0] == targets.shape[0] == reference.shape[0]
    if not fits or reference.shape[1] > logits.shape[1]:
        raise ValueError(
            "logits must be [N, C], targets [N] and reference [N, C] or fewer classes, got "
            f"{list(logits.shape)}, {list(targets.shape)} and {list(reference.shape)}"
        )
    if targets.is_floating_point():
        raise ValueError(f"targets must be classes as integers, got {targets.dtype}")


def reduce(values: Tensor, reduction: Reduction) -> Tensor:
    """Reduce the losses of the samples [N]: not at all, to their mean or to their sum."""
    if reduction == "none":
        return values
    if reduction == "mean":
        return values.mean()  # [N] -> []
    if reduction == "sum":
        return values.sum()  # [N] -> []
    raise ValueError(f'reduction must be "none", "mean" or "sum", got {reduction!r}')


def require_positive(**values: float) -> None:
    """Raise ``ValueError`` for a field that is not above 0 and finite; nan is refused."""
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be above 0 and finite, got {value}")


def require_not_negative(**values: float) -> None:
    """Raise ``ValueError`` for a field that is negative or not finite; nan is refused."""
    for name, value in values.items():
        if not 0 <= value < math.inf:
            raise ValueError(f"{name} must be 0 or above and finite, got {value}")


def require_smoothing(label_smoothing: float) -> None:
    """Raise ``ValueError`` unless label smoothing, a share of the uniform distribution, is at least 0 and below 1."""
    if not 0 <= label_smoothing < 1:
        raise ValueError(f"label_smoothing must be 0 or above and below 1, got {label_smoothing}")
