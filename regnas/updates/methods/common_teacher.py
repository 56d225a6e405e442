"""One common teacher for all releases: a control for methods whose gain may come from a shared teacher alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from regnas import losses
from regnas.networks import Network
from regnas.updates.methods.chain import Chain
from regnas.updates.methods.tunable import tunable
from regnas.updates.models import Lesson, Model, Trained


@dataclass(frozen=True)
class CommonTeacher:
    """Common teacher: the old and the new model both learn from the same further network, trained without treatment.

    Cross-entropy + weight * loss(z; t), with z the logits of a release and t the mean logits of ``members`` teachers;
    ``loss`` is "kd" (temperature-scaled divergence: Hinton, Vinyals and Dean, 2015) or "ldi" (logit difference
    inhibition: Zhao et al.). ``network`` is the teachers' architecture; by default, that of the newest release.

    The teachers are trained on the share of the oldest release. So all releases have the same teachers, and no release
    learns through them from data that it does not have. Samples of added classes are not distilled, because the
    teachers do not know these classes.
    """

    network: Network | None = None
    members: int = 1
    loss: Literal["kd", "ldi"] = "kd"
    temperature: float = 100.0
    weight: float = tunable(1.0)

    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.members < 1:
            raise ValueError(f"members must be at least 1, got {self.members}. Set it to 1 for a single teacher.")
        losses.KnowledgeDistillation(self.temperature)

    @property
    def title(self) -> str:
        return f"Common teacher ({self.loss.upper()}, m = {self.members})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        network = self.network or chain.stages[-1].release.network
        share = chain.stages[0].release.share
        # No release can have this name, because names contain no spaces: the teacher is a network of its own.
        teachers = tuple(Trained(network, f"common teacher {index}", share) for index in range(self.members))
        lesson = Lesson(self._loss(), self.weight, teachers)
        return chain.untargeted(lambda stage, previous: stage.train(previous, lessons=(lesson,)))

    def _loss(self) -> losses.Loss:
        if self.loss == "ldi":
            return losses.LogitDifferenceInhibition()
        return losses.KnowledgeDistillation(self.temperature)
