"""A distance of logits that bears large weights from the first step on."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from regnas.losses.limits import require_positive


@dataclass(frozen=True)
class CentredLogitDistance:
    """Sum over classes of Huber(centred logit - centred reference logit), quadratic up to ``delta``.

    A softmax does not see what is added to all logits alike, so their mean is taken off first; beyond ``delta`` the
    pull grows no further, since the squared distances of networks that are still far apart make a training diverge.
    """

    delta: float = 1.0

    def __post_init__(self) -> None:
        require_positive(delta=self.delta)

    def __call__(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        centred = logits - logits.mean(dim=1, keepdim=True)  # [N, C]
        wanted = reference - reference.mean(dim=1, keepdim=True)  # [N, C]
        return nn.functional.huber_loss(centred, wanted, reduction="none", delta=self.delta).sum(dim=1)  # [N]
