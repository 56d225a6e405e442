"""Losses for training that does not regress, usable in any training loop: one file per loss.

Every loss is called as ``loss(logits, targets, reference, reduction="none")`` with ``logits`` [N, C] of the network,
``targets`` [N] and ``reference`` [N, C], the logits of the model that it must not regress against. The result is [N],
or a scalar with ``reduction="mean"`` or ``"sum"``. Feature losses take the input of the classifier instead of logits.

>>> import torch
>>> from regnas import losses
>>> loss = losses.LogitDifferenceInhibition(top_k=2)
>>> logits, reference = torch.tensor([[1.0, 2.0, 4.0]]), torch.tensor([[1.0, 1.0, 1.0]])
>>> loss(logits, torch.tensor([0]), reference)
tensor([5.])
>>> losses.CrossEntropy()(logits, torch.tensor([2]), reference, reduction="mean").round(decimals=3)
tensor(0.1700)
"""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from regnas.components.registry import Registry
from regnas.losses.backward_compatible import BackwardCompatible
from regnas.losses.bayesian_update import BayesianUpdate, cost_ratio_decision
from regnas.losses.centered_logit_distance import CenteredLogitDistance
from regnas.losses.cross_entropy import CrossEntropy
from regnas.losses.dynamic_focal_distillation import DynamicFocalDistillation
from regnas.losses.features import Embedding, FeatureLoss, PerSampleFeatureLoss, match
from regnas.losses.flip_hinge import FlipHinge
from regnas.losses.focal_distillation import FocalDistillationKL, FocalDistillationLM
from regnas.losses.gated_distillation import GatedDistillation
from regnas.losses.knowledge_distillation import KnowledgeDistillation
from regnas.losses.known_classes import on_known_classes
from regnas.losses.logit_difference_inhibition import LogitDifferenceInhibition
from regnas.losses.margin_cross_entropy import MarginCrossEntropy
from regnas.losses.naive import Naive
from regnas.losses.per_sample import PerSampleLoss
from regnas.losses.regression_alleviating import RegressionAlleviating
from regnas.losses.single_labels import needs_single_labels
from regnas.losses.symmetric_divergence import SymmetricDivergence

FocalDistillation = FocalDistillationKL  # distillation usually means the divergence


class Loss(Protocol):
    """A loss per sample, [N], as training uses it.

    ``logits`` [N, C] are those of the network, ``reference`` [N, C] those of a model that it must not regress against.
    """

    def __call__(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor: ...


LOSSES: Registry[type[Loss]] = Registry(
    "loss",
    "regnas.losses",
    {
        "cross_entropy": CrossEntropy,
        "naive": Naive,
        "knowledge_distillation": KnowledgeDistillation,
        "focal_distillation_kl": FocalDistillationKL,
        "focal_distillation_lm": FocalDistillationLM,
        "dynamic_focal_distillation": DynamicFocalDistillation,
        "gated_distillation": GatedDistillation,
        "logit_difference_inhibition": LogitDifferenceInhibition,
        "bayesian_update": BayesianUpdate,
        "centered_logit_distance": CenteredLogitDistance,
        "margin_cross_entropy": MarginCrossEntropy,
        "flip_hinge": FlipHinge,
        "symmetric_divergence": SymmetricDivergence,
    },
)

FEATURE_LOSSES: Registry[type[FeatureLoss]] = Registry(
    "feature loss",
    "regnas.feature_losses",
    {
        "backward_compatible": BackwardCompatible,
        "regression_alleviating": RegressionAlleviating,
    },
)

__all__ = [
    "FEATURE_LOSSES",
    "LOSSES",
    "BackwardCompatible",
    "BayesianUpdate",
    "CenteredLogitDistance",
    "CrossEntropy",
    "DynamicFocalDistillation",
    "Embedding",
    "FeatureLoss",
    "FlipHinge",
    "FocalDistillation",
    "FocalDistillationKL",
    "FocalDistillationLM",
    "GatedDistillation",
    "KnowledgeDistillation",
    "LogitDifferenceInhibition",
    "Loss",
    "MarginCrossEntropy",
    "Naive",
    "PerSampleFeatureLoss",
    "PerSampleLoss",
    "RegressionAlleviating",
    "SymmetricDivergence",
    "cost_ratio_decision",
    "match",
    "needs_single_labels",
    "on_known_classes",
]
