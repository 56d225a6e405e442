"""ELODI if the old model was trained without it (Zhao et al., eq. 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain, ChainStage
from regnas.updates.methods.ensemble_distillation import EnsembleDistillation
from regnas.updates.methods.members import members_of
from regnas.updates.models import Model


@dataclass(frozen=True)
class ElodiLegacy(EnsembleDistillation):
    """ELODI, legacy old model: LDI to the ensemble (share ``lambda_``) and to the old model (the rest).

    The other keys are those of ELODI. ``old_margin`` is the margin to the old model: the authors' code uses 0.5
    toward a single model and 0 toward an ensemble. The first release has no ensemble. In a release that is fine-tuned
    from it, all members start from the legacy model itself. Members of later releases start from their predecessors.
    """

    lambda_: float = 0.5
    old_margin: float = 0.5

    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.lambda_ <= 1:
            raise ValueError(f"lambda_ must be between 0 and 1, got {self.lambda_}")
        self.loss(self.old_margin)

    @property
    def title(self) -> str:
        return f"ELODI, legacy old model ({self.details}, λ = {self.lambda_:g})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        ensembles = members_of(chain, self.networks, first=chain.stages[0].plain(None))
        of_stage = dict(zip(chain.stages, ensembles, strict=True))

        def treat(stage: ChainStage, previous: Model, references: tuple[Model, ...]) -> Model:
            to_ensemble, to_old = self.alpha * self.lambda_, self.alpha * (1 - self.lambda_) / len(references)
            taught = self.lesson(to_ensemble, of_stage[stage], self.margin, online=self.teacher == "online")
            held = (self.lesson(to_old, (reference,), self.old_margin) for reference in references)
            return stage.train(previous, label_weight=1 - self.alpha, lessons=(taught, *held))

        return chain.targeted(treat)
