"""Losses for training that does not regress: one file a loss, each ``(logits, targets, reference) -> [N]``.

Feature losses have the same shape on what the classifier reads: ``(features, targets, embedding) -> [N]``.
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
from regnas.losses.features import Embedding, FeatureLoss, match
from regnas.losses.flip_hinge import FlipHinge
from regnas.losses.focal_distillation import FocalDistillationKL, FocalDistillationLM
from regnas.losses.gated_distillation import GatedDistillation
from regnas.losses.knowledge_distillation import KnowledgeDistillation
from regnas.losses.known_classes import on_known_classes
from regnas.losses.logit_difference_inhibition import LogitDifferenceInhibition
from regnas.losses.margin_cross_entropy import MarginCrossEntropy
from regnas.losses.naive import Naive
from regnas.losses.regression_alleviating import RegressionAlleviating
from regnas.losses.symmetric_divergence import SymmetricDivergence


class Loss(Protocol):
    """A loss for each sample, not yet averaged.

    ``logits`` [N, C] are the network's, ``reference`` [N, C] those of the network it shall not contradict.
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
    "FocalDistillationKL",
    "FocalDistillationLM",
    "GatedDistillation",
    "KnowledgeDistillation",
    "LogitDifferenceInhibition",
    "Loss",
    "MarginCrossEntropy",
    "Naive",
    "RegressionAlleviating",
    "SymmetricDivergence",
    "cost_ratio_decision",
    "match",
    "on_known_classes",
]
