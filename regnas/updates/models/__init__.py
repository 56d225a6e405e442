"""Models as values that say what they are made from; the store makes them and keeps them by content."""

from regnas.updates.models.averaged import Averaged
from regnas.updates.models.clipped import ClippedTraining, collect_clipping, describe_clipping
from regnas.updates.models.combined import (
    BayesianUpdated,
    Centric,
    Ensemble,
    network_of,
    weights_in,
)
from regnas.updates.models.constrained import Constrained
from regnas.updates.models.content import content_of
from regnas.updates.models.given import Checkpoint, Published
from regnas.updates.models.joint import JointTraining, MeanLogits, MemberOf, Twins, joint_members
from regnas.updates.models.making import copy_metrics, make_all, methods_of, training_macs
from regnas.updates.models.mixed_weights import FisherInterpolated, FisherMerged, Interpolated, Soup
from regnas.updates.models.model import Model, Training, all_parts, share_of, single_labels_of, trainings_in
from regnas.updates.models.store import ModelStore
from regnas.updates.models.ties import Consolidated, DecoupledDecay, MixedWeights, Tie
from regnas.updates.models.trained import AddedClassMargin, FeatureLesson, Lesson, Trained

__all__ = [
    "AddedClassMargin",
    "Averaged",
    "BayesianUpdated",
    "Centric",
    "Checkpoint",
    "ClippedTraining",
    "Consolidated",
    "Constrained",
    "DecoupledDecay",
    "Ensemble",
    "FeatureLesson",
    "FisherInterpolated",
    "FisherMerged",
    "Interpolated",
    "JointTraining",
    "Lesson",
    "MeanLogits",
    "MemberOf",
    "MixedWeights",
    "Model",
    "ModelStore",
    "Published",
    "Soup",
    "Tie",
    "Trained",
    "Training",
    "Twins",
    "all_parts",
    "collect_clipping",
    "content_of",
    "copy_metrics",
    "describe_clipping",
    "joint_members",
    "make_all",
    "methods_of",
    "network_of",
    "share_of",
    "single_labels_of",
    "training_macs",
    "trainings_in",
    "weights_in",
]
