"""The mean of the predictions of two models."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regnas.updates.models.model import Model
from regnas.updates.models.store import ModelStore

Quantity = Literal["logits", "probabilities"]


@dataclass(frozen=True)
class Averaged:
    """The mean of the predictions of an older and a newer model; both run at inference."""

    old: Model
    new: Model
    of: Quantity = "logits"

    def parts(self) -> tuple[Model, ...]:
        return self.old, self.new

    def build(self, store: ModelStore) -> nn.Module:
        return MeanOfTwo(store.module(self.old), store.module(self.new), self.of)


class MeanOfTwo(nn.Module):
    """Logarithms of the mean probabilities [N, C], or of the softmax of the mean logits.

    If the old model knows only K of the C classes, the new model alone decides the total probability P of the K known
    classes, and the mean is taken among them: p_k = P * mean(p_old(k), p_new(k) / P), or, of logits,
    p_k = P * softmax((z_old + z_new) / 2)_k, both over the K classes. An added class keeps p_new(k). A constant that
    is added to all logits of a model therefore changes nothing.
    """

    def __init__(self, old: nn.Module, new: nn.Module, of: Quantity) -> None:
        super().__init__()
        self.old = old
        self.new = new
        self.of = of

    def forward(self, images: Tensor) -> Tensor:
        old, new = F.log_softmax(self.old(images), dim=1), F.log_softmax(self.new(images), dim=1)  # [N, K], [N, C]
        known, added = new[:, : old.shape[1]], new[:, old.shape[1] :]  # [N, K], [N, C - K]
        share = known.logsumexp(dim=1, keepdim=True)  # [N, 1], log P
        if self.of == "logits":
            inside = F.log_softmax((old + known) / 2, dim=1)  # [N, K]
        else:
            inside = torch.logaddexp(old, known - share) - math.log(2)  # [N, K]
        return torch.cat([share + inside, added], dim=1)  # [N, C]
