"""The old and the new model together, at inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain
from regnas.updates.models import Averaged, Model
from regnas.updates.models.averaged import Quantity


@dataclass(frozen=True)
class MeanOfLogits:
    """Old + new: both models run, and the mean of their logits (or probabilities) decides; no training is changed.

    softmax((z_old + z_new) / 2), or (p_old + p_new) / 2 if ``of`` is "probabilities". The old model does not know added
    classes. For these, the new model decides alone: it gives the total probability of the known classes, and the mean
    is taken among those. The parameters of both models count.
    """

    of: Quantity = "logits"

    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = False

    @property
    def title(self) -> str:
        return f"Old + new (mean {self.of})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.following(lambda stage, previous: Averaged(previous, stage.train(previous), self.of))
