"""Ensemble logit difference inhibition (ELODI: Zhao et al.)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.networks import Network
from regnas.updates.methods.chain import Chain, ChainStage
from regnas.updates.methods.ensemble_distillation import EnsembleDistillation, describe_networks, in_turn
from regnas.updates.methods.members import members_of
from regnas.updates.models import Model


@dataclass(frozen=True)
class Elodi(EnsembleDistillation):
    """ELODI: the old and the new model are each distilled from an ensemble of m networks of their own architecture.

    (1 - alpha) * cross-entropy + alpha * LDI over the ``top_k`` highest classes with exponent ``power``. The teacher
    sees the student's own batch (``online``) or each training sample once, without augmentation (``offline``). In a
    release that is fine-tuned, member r of the ensemble starts from member r of the old ensemble, and the student from
    the old student. ``teachers`` are the networks of the ensembles, and ``first_teachers`` those of the first release
    if it has others (table 8 of ELODI: weak teachers, then strong ones). ``towards`` is the loss to the ensemble
    ("ldi", "kd" or "fd": table 10). It begins after the share ``start_at`` of the training.
    """

    first_teachers: tuple[Network, ...] = ()

    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.first_teachers) > self.members:
            raise ValueError(
                f"members must be at least the number of first_teachers, {len(self.first_teachers)}, got "
                f"{self.members}. Raise members, or name fewer first_teachers."
            )

    @property
    def title(self) -> str:
        first = f", first {describe_networks(self.first_teachers)}" if self.first_teachers else ""
        return f"ELODI ({self.details}{first})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        def networks(stage: ChainStage) -> tuple[Network, ...]:
            if self.first_teachers and stage == chain.stages[0]:
                return in_turn(self.first_teachers, self.members)
            return self.networks(stage)

        students: list[Model] = []
        for stage, ensemble in zip(chain.stages, members_of(chain, networks), strict=True):
            lesson = self.lesson(self.alpha, ensemble, self.margin, online=self.teacher == "online")
            previous = students[-1] if students else None
            students.append(stage.given or stage.train(previous, label_weight=1 - self.alpha, lessons=(lesson,)))
        return tuple(students)
