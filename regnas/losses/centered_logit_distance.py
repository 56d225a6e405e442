"""A distance of logits that bears large weights from the first step on."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from regnas.losses.known_classes import known_logits
from regnas.losses.limits import require_positive


@dataclass(frozen=True)
class CenteredLogitDistance:
    """Mean over classes of Huber(centered logit - centered reference logit), quadratic up to ``delta``.

    A softmax does not see what is added to all logits alike, so their mean is subtracted first. Beyond ``delta`` the
    pull grows no further, since the squared distances of networks that are still far apart make a training diverge.
    """

    delta: float = 1.0

    def __post_init__(self) -> None:
        require_positive(delta=self.delta)

    def __call__(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        own = known_logits(logits, reference)  # [N, C] -> [N, K]
        centered = own - own.mean(dim=1, keepdim=True)  # [N, K]
        wanted = reference - reference.mean(dim=1, keepdim=True)  # [N, K]
        return nn.functional.huber_loss(centered, wanted, reduction="none", delta=self.delta).mean(dim=1)  # [N]
