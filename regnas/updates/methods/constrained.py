"""Training to a target negative flip rate, by a Lagrangian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from regnas import losses
from regnas.components.rate import Rate
from regnas.updates.methods.chain import Chain, ChainStage
from regnas.updates.models import Constrained, Model


@dataclass(frozen=True)
class ConstrainedTraining:
    """Constrained: cross-entropy subject to an NFR of at most ``target``, by a Lagrange multiplier.

    min_w CE(w) subject to NFR(w; old) <= target. A step minimizes (CE + lambda * H) / (1 + lambda), where H stands for
    the NFR, on samples that the old model predicts correctly. With ``surrogate`` "divergence", H is the divergence from
    the old model at ``temperature``. With "hinge", it is a hinge on the logit ``margin``, which bounds the NFR from
    above but is one more label loss: it does not tie the network to the old model, and on digits it hardly changed the
    NFR of new samples.

    lambda >= 0 follows the NFR on a held-out share ``held_out`` of the training samples. It rises while that NFR is
    above the target and falls while it is below, by at most ``rate`` per epoch. During the share ``warm_up`` of the
    training it stays 0. Several references have one multiplier each. The target is not guaranteed: the log has lambda
    and the held-out NFR of every epoch, which show whether it was met. Targets far below the noise floor need a release
    that starts from the old weights (``start = "previous"``).

    The held-out samples are samples that the old model was not trained on, if there are enough of them. If both
    releases have the same data, there are none. The old model is then correct on more of the held-out samples than on
    new data, and the training is stricter than its target. Using a surrogate for the weights and the true rate for the
    multiplier follows Cotter et al., Optimization with Non-Differentiable Constraints, JMLR 2019 (proxy-Lagrangian).
    ``churn_distillation`` is another solution.
    """

    target: Rate = 0.01  # or "1 %"
    surrogate: Literal["divergence", "hinge"] = "divergence"
    margin: float = 1.0
    temperature: float = 100.0
    rate: float = 1.0
    warm_up: float = 0.2
    held_out: float = 0.1

    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("target", "held_out"):
            if not 0 < getattr(self, name) < 1:
                value = getattr(self, name)
                raise ValueError(f"{name} must be above 0 and below 1, got {value}. It is a share: 1 % is 0.01.")
        if not 0 < self.rate < float("inf"):
            raise ValueError(f"rate must be above 0 and finite, got {self.rate}. 1 is a good start.")
        if not 0 <= self.warm_up < 1:
            raise ValueError(f"warm_up must be at least 0 and below 1, got {self.warm_up}. It is a share of training.")
        losses.FlipHinge(self.margin)
        losses.FocalDistillationKL(temperature=self.temperature)

    @property
    def title(self) -> str:
        return f"Constrained (NFR ≤ {100 * self.target:g} %)"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.targeted(self._treat)

    def _treat(self, stage: ChainStage, previous: Model, references: tuple[Model, ...]) -> Model:
        plain = stage.train(previous)
        return Constrained(
            network=plain.network,
            olds=references,
            target=self.target,
            replicate=plain.replicate,
            share=plain.share,
            start=plain.start,
            rate=self.rate,
            warm_up=self.warm_up,
            surrogate=self._surrogate(),
            held_out=self.held_out,
        )

    def _surrogate(self) -> losses.Loss:
        if self.surrogate == "hinge":
            return losses.FlipHinge(self.margin)
        return losses.FocalDistillationKL(alpha=0.0, beta=1.0, temperature=self.temperature)
