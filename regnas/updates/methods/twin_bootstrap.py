"""Twin-bootstrap training against churn (Prastalo and Jablonka, 2026)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regnas.updates.methods.chain import Chain, ChainStage
from regnas.updates.methods.tunable import Grid, tunable
from regnas.updates.models import Averaged, JointTraining, Model, Twins, joint_members, weights_in

# The authors try 1 to 300.
CONSISTENCY = Grid((1.0, 3.0, 10.0, 30.0), within=(0.1, 300.0))


@dataclass(frozen=True)
class TwinBootstrap:
    """Twin-bootstrap: each release is two networks, trained together to agree, each on its own bootstrap sample.

    CE(z_A; S_A) + CE(z_B; S_B) + weight * symKL(p_A, p_B), with S_A and S_B drawn from the training samples with
    replacement, symKL the mean of both divergences over the samples of both bootstraps, and (p_A + p_B) / 2 as the
    answer (G. Prastalo and K. M. Jablonka: Reducing cross-sample prediction churn in scientific machine learning, 2026,
    arXiv 2605.13826). Both networks run at inference. The authors choose the largest weight that costs at most 2 points
    of accuracy: 300 for a small perceptron, 10 for a pretrained ResNet-50.
    """

    weight: float = tunable(10.0, CONSISTENCY)

    title: ClassVar[str] = "Twin-bootstrap"
    targeted: ClassVar[bool] = False
    fine_tunes: ClassVar[bool] = False

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        return chain.untargeted(self._twins)

    def _twins(self, stage: ChainStage, previous: Model | None) -> Model:
        release = stage.release
        joint = JointTraining(
            networks=(release.network,) * 2,
            bond=Twins(self.weight),
            replicate=stage.name,
            share=release.share,
            starts=_both(previous) if previous and release.start == "previous" else (),
        )
        first, second = joint_members(joint)
        return Averaged(first, second, "probabilities")


def _both(previous: Model) -> tuple[Model, Model]:
    """Return the model that each twin starts from: its own predecessor, or the one model before."""
    if isinstance(previous, Averaged):
        return previous.old, previous.new
    return weights_in(previous), weights_in(previous)
