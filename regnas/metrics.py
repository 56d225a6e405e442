"""Flip rates as metrics of torchmetrics, for evaluation loops on any number of processes.

Needs torchmetrics: ``pip install 'regnas[metrics]'``. The states are counts, which are added up over batches and
processes, so a result does not depend on how the samples are divided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regnas.errors import EnvironmentProblem

try:
    import torch
    from torchmetrics import Metric
except ImportError as error:
    if error.name not in ("torch", "torchmetrics"):
        raise
    raise EnvironmentProblem(
        f"regnas.metrics needs {error.name}, which is not installed. Run: pip install 'regnas[metrics]'"
    ) from error

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["NegativeFlipRate", "PositiveFlipRate", "RelativeNegativeFlipRate"]


class _FlipMetric(Metric):
    """The counts that every flip rate is computed from."""

    is_differentiable = False
    higher_is_better = False
    full_state_update = False

    negative_flips: Tensor
    positive_flips: Tensor
    old_correct: Tensor
    new_wrong: Tensor
    samples: Tensor

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        for name in ("negative_flips", "positive_flips", "old_correct", "new_wrong", "samples"):
            self.add_state(name, default=torch.tensor(0), dist_reduce_fx="sum")

    def update(self, preds_new: Tensor, preds_old: Tensor, target: Tensor) -> None:
        """Count the flips of a batch.

        Args:
            preds_new: classes [N], or logits or probabilities [N, C], of the new model.
            preds_old: the same of the old model.
            target: classes [N].
        """
        new, old = (
            _classes(preds, target, name) for preds, name in ((preds_new, "preds_new"), (preds_old, "preds_old"))
        )
        new_correct, old_correct = new == target, old == target  # [N]
        self.negative_flips += (old_correct & ~new_correct).sum()
        self.positive_flips += (new_correct & ~old_correct).sum()
        self.old_correct += old_correct.sum()
        self.new_wrong += (~new_correct).sum()
        self.samples += target.numel()


class NegativeFlipRate(_FlipMetric):
    """The share of samples that the old model predicts correctly and the new model does not.

    NFR = mean(old correct and new wrong) (Yan et al., CVPR 2021). NaN before the first sample.

    Example:
        >>> import torch
        >>> from regnas.metrics import NegativeFlipRate
        >>> metric = NegativeFlipRate()
        >>> new, old, target = torch.tensor([[0, 0, 1, 1], [0, 1, 1, 0], [0, 1, 1, 1]])
        >>> metric(preds_new=new, preds_old=old, target=target)
        tensor(0.2500)
    """

    def compute(self) -> Tensor:
        """Return negative flips / samples."""
        return self.negative_flips / self.samples


class PositiveFlipRate(_FlipMetric):
    """The share of samples that the new model predicts correctly and the old model does not.

    PFR = mean(old wrong and new correct); accuracy(new) - accuracy(old) = PFR - NFR. NaN before the first sample.

    Example:
        >>> import torch
        >>> from regnas.metrics import PositiveFlipRate
        >>> metric = PositiveFlipRate()
        >>> logits = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
        >>> metric(preds_new=logits, preds_old=torch.tensor([1, 1]), target=torch.tensor([0, 1]))
        tensor(0.5000)
    """

    higher_is_better = True

    def compute(self) -> Tensor:
        """Return positive flips / samples."""
        return self.positive_flips / self.samples


class RelativeNegativeFlipRate(_FlipMetric):
    """NFR / (accuracy of the old model * error rate of the new model): 1 if the errors are independent.

    0 if nothing can flip: the old model is never correct, or the new model never wrong.

    Example:
        >>> import torch
        >>> from regnas.metrics import RelativeNegativeFlipRate
        >>> metric = RelativeNegativeFlipRate()
        >>> new, old, target = torch.tensor([[0, 0, 1, 1], [0, 1, 1, 0], [0, 1, 1, 1]])
        >>> metric(preds_new=new, preds_old=old, target=target)
        tensor(1.3333)
    """

    def compute(self) -> Tensor:
        """Return negative flips * samples / (old correct * new wrong)."""
        chances = self.old_correct.double() * self.new_wrong.double()
        rate = self.negative_flips.double() * self.samples.double() / chances.clamp(min=1)
        return rate.to(torch.get_default_dtype())


def _classes(preds: Tensor, target: Tensor, name: str) -> Tensor:
    """Return classes [N] from classes [N] or scores [N, C]."""
    if target.ndim != 1 or target.is_floating_point():
        raise ValueError(f"target must be classes of shape [N] as integers, got {target.dtype} {list(target.shape)}")
    scores = preds.ndim == 2 and preds.is_floating_point() and preds.shape[1] > 1
    classes = preds.ndim == 1 and not preds.is_floating_point()
    if not (scores or classes) or len(preds) != len(target):
        raise ValueError(
            f"{name} must be classes of shape [{len(target)}] as integers, or scores of shape [{len(target)}, C], got "
            f"{preds.dtype} {list(preds.shape)}"
        )
    return preds.argmax(dim=1) if scores else preds  # [N, C] -> [N]
