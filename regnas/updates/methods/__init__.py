"""Methods of updating a model, one file each: a method plans the model that stands for each release of a chain."""

from __future__ import annotations

from typing import Protocol

from regnas.components.registry import Registry
from regnas.updates.methods.backward_compatible import BackwardCompatible
from regnas.updates.methods.bayesian_update import BayesianUpdate
from regnas.updates.methods.bayesian_update_trained import BayesianUpdateTrained
from regnas.updates.methods.bcwi import WeightInterpolation
from regnas.updates.methods.bcwi_fisher import FisherInterpolation
from regnas.updates.methods.bcwi_soup import SoupInterpolation
from regnas.updates.methods.centric import CentricMember
from regnas.updates.methods.chain import Chain, ChainStage, References, Release
from regnas.updates.methods.churn_distillation import ChurnDistillation
from regnas.updates.methods.co_training import CoTraining
from regnas.updates.methods.common_teacher import CommonTeacher
from regnas.updates.methods.constrained import ConstrainedTraining
from regnas.updates.methods.dropout import Dropout
from regnas.updates.methods.dynamic_focal_distillation import DynamicFocalDistillation
from regnas.updates.methods.elodi import Elodi
from regnas.updates.methods.elodi_legacy import ElodiLegacy
from regnas.updates.methods.ensemble import EnsembleParagon
from regnas.updates.methods.ewc import ElasticConsolidation
from regnas.updates.methods.fine_tuning import FineTuning
from regnas.updates.methods.fisher_merging import FisherMerging
from regnas.updates.methods.focal_distillation_kl import FocalDistillationKL
from regnas.updates.methods.focal_distillation_lm import FocalDistillationLM
from regnas.updates.methods.gated_distillation import GatedDistillation
from regnas.updates.methods.heterogeneous_ensemble import HeterogeneousEnsemble
from regnas.updates.methods.knowledge_distillation import KnowledgeDistillation
from regnas.updates.methods.mean_logits import MeanOfLogits
from regnas.updates.methods.mixout import Mixout
from regnas.updates.methods.mpt import MarginPreservingTraining
from regnas.updates.methods.naive import Naive
from regnas.updates.methods.none import NoTreatment
from regnas.updates.methods.prior_weight_decay import PriorWeightDecay
from regnas.updates.methods.regression_alleviating import RegressionAlleviating
from regnas.updates.methods.twin_bootstrap import TwinBootstrap
from regnas.updates.models import Model


class Method(Protocol):
    """A method of updating a model: a frozen dataclass whose fields are its keys in the configuration.

    `regnas list` shows the first line of its docstring.
    """

    @property
    def title(self) -> str: ...

    @property
    def targeted(self) -> bool:
        """Whether the method uses reference models: in a chain it then runs once per kind of references."""
        ...

    @property
    def fine_tunes(self) -> bool:
        """Whether new models start from the old weights: the method is then compared with plain fine-tuning."""
        ...

    def plan(self, chain: Chain) -> tuple[Model, ...]:
        """Return, for every release of the chain, the model that stands in its place."""
        ...


METHODS: Registry[type[Method]] = Registry(
    "method",
    "regnas.methods",
    {
        "none": NoTreatment,
        "fine_tuning": FineTuning,
        "naive": Naive,
        "knowledge_distillation": KnowledgeDistillation,
        "focal_distillation_kl": FocalDistillationKL,
        "focal_distillation_lm": FocalDistillationLM,
        "dynamic_focal_distillation": DynamicFocalDistillation,
        "gated_distillation": GatedDistillation,
        "bct": BackwardCompatible,
        "ract": RegressionAlleviating,
        "bayesian_update": BayesianUpdate,
        "bayesian_update_trained": BayesianUpdateTrained,
        "dropout": Dropout,
        "ensemble": EnsembleParagon,
        "heterogeneous_ensemble": HeterogeneousEnsemble,
        "centric": CentricMember,
        "elodi": Elodi,
        "elodi_legacy": ElodiLegacy,
        "bcwi": WeightInterpolation,
        "bcwi_soup": SoupInterpolation,
        "bcwi_fisher": FisherInterpolation,
        "fisher_merging": FisherMerging,
        "ewc": ElasticConsolidation,
        "prior_weight_decay": PriorWeightDecay,
        "mixout": Mixout,
        "common_teacher": CommonTeacher,
        "co_training": CoTraining,
        "mean_logits": MeanOfLogits,
        "mpt": MarginPreservingTraining,
        "constrained": ConstrainedTraining,
        "churn_distillation": ChurnDistillation,
        "twin_bootstrap": TwinBootstrap,
    },
)

__all__ = ["METHODS", "Chain", "ChainStage", "Method", "References", "Release"]
