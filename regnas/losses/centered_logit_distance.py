"""A distance of logits that stays stable with large weights from the first step on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from regnas.losses.known_classes import known_logits
from regnas.losses.per_sample import PerSampleLoss, require_positive


@dataclass(frozen=True)
class CenteredLogitDistance(PerSampleLoss):
    """Mean over classes of Huber(centered logit - centered reference logit), quadratic up to ``delta``.

    A softmax ignores a constant that is added to all logits, so their mean is subtracted first. Beyond ``delta`` the
    gradient does not grow: squared distances between networks that are still far apart make training diverge.
    """

    mixes_labels: ClassVar[bool] = True

    delta: float = 1.0

    def __post_init__(self) -> None:
        require_positive(delta=self.delta)

    def per_sample(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        own = known_logits(logits, reference)  # [N, C] -> [N, K]
        centered = own - own.mean(dim=1, keepdim=True)  # [N, K]
        wanted = reference - reference.mean(dim=1, keepdim=True)  # [N, K]
        return nn.functional.huber_loss(centered, wanted, reduction="none", delta=self.delta).mean(dim=1)  # [N]
