"""Losses for training that does not regress: one file a loss, each ``(logits, targets, reference) -> [N]``."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from regnas.losses.cross_entropy import CrossEntropy
from regnas.losses.focal_distillation import FocalDistillationKL, FocalDistillationLM
from regnas.losses.knowledge_distillation import KnowledgeDistillation
from regnas.losses.logit_difference_inhibition import LogitDifferenceInhibition
from regnas.registry import Registry


class Loss(Protocol):
    """A loss for each sample, not yet averaged.

    ``logits`` [N, C] are the network's, ``reference`` [N, C] those of the network it shall not contradict.
    """

    def __call__(self, logits: Tensor, targets: Tensor, reference: Tensor) -> Tensor: ...


LOSSES: Registry[Loss] = Registry(
    "loss",
    {
        "cross_entropy": CrossEntropy,
        "knowledge_distillation": KnowledgeDistillation,
        "focal_distillation_kl": FocalDistillationKL,
        "focal_distillation_lm": FocalDistillationLM,
        "logit_difference_inhibition": LogitDifferenceInhibition,
    },
)

__all__ = [
    "LOSSES",
    "CrossEntropy",
    "FocalDistillationKL",
    "FocalDistillationLM",
    "KnowledgeDistillation",
    "LogitDifferenceInhibition",
    "Loss",
]
