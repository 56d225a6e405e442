"""Margin preserving training (MPT: Ricci et al., AAAI 2026)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from regnas import losses
from regnas.updates.methods.chain import Chain, ChainStage, lessons
from regnas.updates.methods.tunable import tunable
from regnas.updates.models import AddedClassMargin, Lesson, Model, share_of


@dataclass(frozen=True)
class MarginPreservingTraining:
    """MPT: a margin between old and added classes, and focal distillation to the old and to the untreated new model.

    CE(z + b * a, y) + weight * FD(z; r_old) + weight * FD(z; r_new), with z the logits, a_k = 1 for the classes that
    the old model does not know and 0 for the others, b the ``bias``, r_old the old model's logits (on its own classes)
    and r_new those of a new model that was trained without treatment (on all classes). ``loss`` is "lm", 1 / 2 the mean
    over classes of the squared distance of logits, or "kl", the divergence at ``temperature`` without its square as a
    factor; both are weighted by alpha + beta * 1[the reference is correct]. If no class was added, the bias does
    nothing.

    The authors ran weight 0.4 with "lm" and 1 with "kl", alpha 1, beta 5, temperature 5, and chose the bias among 0, 1,
    2 and 4. They also distill samples of added classes from the old model; this implementation does not.
    """

    bias: float = 2.0
    loss: Literal["lm", "kl"] = "lm"
    alpha: float = 1.0
    beta: float = 5.0
    temperature: float = 5.0
    weight: float = tunable(0.4)

    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        losses.MarginCrossEntropy(self.bias)
        losses.FocalDistillationKL(self.alpha, self.beta, self.temperature)

    @property
    def title(self) -> str:
        return f"MPT ({self.loss.upper()}, b = {self.bias:g})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.targeted(self._treat)

    def _treat(self, stage: ChainStage, previous: Model, references: tuple[Model, ...]) -> Model:
        loss, weight = self._weighted_loss()
        return stage.train(
            previous,
            margin=AddedClassMargin(self.bias, share_of(references[-1])),
            lessons=(*lessons(loss, weight, references), Lesson(loss, weight, (stage.train(previous),))),
        )

    def _weighted_loss(self) -> tuple[losses.Loss, float]:
        if self.loss == "lm":
            return losses.FocalDistillationLM(self.alpha, self.beta), self.weight
        # The loss has the temperature squared as a factor.
        return losses.FocalDistillationKL(self.alpha, self.beta, self.temperature), self.weight / self.temperature**2
