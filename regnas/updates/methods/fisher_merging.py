"""A mean of old and new weights by the Fisher information of both models (Matena and Raffel, NeurIPS 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain, ChainStage, fine_tune
from regnas.updates.methods.tunable import SHARES, tunable
from regnas.updates.models import FisherMerged, Model


@dataclass(frozen=True)
class FisherMerging:
    """Fisher merging: the mean of old and fine-tuned weights; each counts more if its own model depends more on it.

    (alpha F_old w_old + (1 - alpha) F_new w_new) / (alpha F_old + (1 - alpha) F_new), with the Fisher information of
    each model on ``samples`` of its own training samples. Fisher BCWI is the form with F_new = 1.
    """

    alpha: float = tunable(0.4, SHARES)
    samples: int = 512

    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1 or self.samples < 1:
            raise ValueError(
                f"alpha must be between 0 and 1 and samples at least 1, got {self.alpha} and {self.samples}"
            )

    @property
    def title(self) -> str:
        return f"Fisher merging (α = {self.alpha:g})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.following(self._treat)

    def _treat(self, stage: ChainStage, previous: Model) -> Model:
        return FisherMerged(previous, fine_tune(stage, previous, "fisher_merging"), self.alpha, self.samples)
