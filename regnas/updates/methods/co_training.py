"""Separate networks trained side by side (deep mutual learning: Zhang et al., CVPR 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from regnas import losses
from regnas.errors import ConfigurationError
from regnas.updates.methods.chain import Chain
from regnas.updates.methods.tunable import tunable
from regnas.updates.models import JointTraining, MeanLogits, Model, joint_members


@dataclass(frozen=True)
class CoTraining:
    """Co-training: the networks of all releases are trained side by side, each pulled to the mean of their logits.

    Sum over the releases i of cross-entropy(z_i) + weight * loss(z_i; mean_j z_j), without gradient through the mean.
    Before the share ``start`` of the training, the second term is off. ``loss`` is "ldi" (logit difference inhibition,
    the term that polishing uses for the members of a family) or "kd" (divergence from the softmax of the mean: deep
    mutual learning with the ensemble of all networks as the peer). The networks share no weights, so the difference to
    a family shows what sharing them adds.
    """

    loss: Literal["ldi", "kd"] = "ldi"
    weight: float = tunable(1.0)
    start: float = 0.0

    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.start < 1:
            raise ValueError(f"start must be at least 0 and below 1, got {self.start}. It is a share of the training.")

    @property
    def title(self) -> str:
        return f"Co-training ({self.loss.upper()})"

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        _check(chain)
        loss = losses.LogitDifferenceInhibition() if self.loss == "ldi" else losses.KnowledgeDistillation()
        joint = JointTraining(
            networks=tuple(stage.release.network for stage in chain.stages),
            bond=MeanLogits(loss, self.weight, self.start),
            replicate=" ".join(stage.name for stage in chain.stages),
            share=chain.stages[0].release.share,
        )
        return joint_members(joint)


def _check(chain: Chain) -> None:
    """Refuse releases that cannot be trained at the same time, from scratch, on the same batches."""
    first = chain.stages[0]
    for stage in chain.stages:
        release = stage.release
        if release.checkpoint or not release.trained:
            problem = f"models.{stage.name} must be trained, got a model with existing weights"
        elif release.share != first.release.share:
            problem = f"models.{stage.name} must have the samples and classes of models.{first.name}, got other ones"
        elif release.start == "previous":
            problem = f'models.{stage.name}.start must be "fresh", got "previous"'
        else:
            continue
        raise ConfigurationError(
            f"methods.co_training trains all models at the same time on the same data: {problem}. "
            "Change the model, or leave the method out."
        )
