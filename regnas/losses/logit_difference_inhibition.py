"""Logit difference inhibition, the loss of ELODI (Zhao et al., eq. 5 and 8)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from regnas.losses.limits import require_positive


@dataclass(frozen=True)
class LogitDifferenceInhibition:
    """LDI: sum over the reference's K highest classes of |logit - reference logit|^p."""

    power: float = 2.0
    top_k: int = 10
    margin: float = 0.0
    exclude_target: bool = True

    def __post_init__(self) -> None:
        require_positive(power=self.power)
        if self.top_k < 1:
            raise ValueError(f"top_k is {self.top_k}: it has to be 1 or above")

    def __call__(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor:
        classes = reference.topk(min(self.top_k, reference.shape[1]), dim=1).indices  # [N, K]
        difference = (logits - reference).gather(1, classes)  # [N, C] -> [N, K]
        return difference.abs().pow(self.power).sum(dim=1)  # [N, K] -> [N]
