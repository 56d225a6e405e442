"""Where a network comes from, as a value; the workshop makes it and keeps it by content."""

from regnas.models.averaged import Averaged
from regnas.models.clipped import ClippedTraining, clipped_steps, clipped_trainings
from regnas.models.combined import (
    BayesianUpdated,
    Centric,
    Ensemble,
    network_of,
    weights_in,
)
from regnas.models.constrained import Constrained
from regnas.models.content import content_of
from regnas.models.given import Checkpoint, Published
from regnas.models.joint import JointTraining, MeanLogits, MemberOf, Twins, joint_members
from regnas.models.mixed_weights import FisherInterpolated, FisherMerged, Interpolated, Soup
from regnas.models.model import Model, Training, all_parts, share_of
from regnas.models.ties import Consolidated, DecoupledDecay, MixedWeights, Tie
from regnas.models.trained import AddedClassMargin, FeatureLesson, Lesson, Trained
from regnas.models.workshop import Workshop, make_all, training_macs

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
    "Published",
    "Soup",
    "Tie",
    "Trained",
    "Training",
    "Twins",
    "Workshop",
    "all_parts",
    "clipped_steps",
    "clipped_trainings",
    "content_of",
    "joint_members",
    "make_all",
    "network_of",
    "share_of",
    "training_macs",
    "weights_in",
]
