"""Where a network comes from, as a value; the workshop makes it and keeps it by content."""

from regnas.models.combined import (
    BayesianUpdated,
    Centric,
    Ensemble,
    network_of,
    weights_in,
)
from regnas.models.content import content_of
from regnas.models.given import Checkpoint, Published
from regnas.models.mixed_weights import FisherInterpolated, FisherMerged, Interpolated, Soup
from regnas.models.model import Model, Training, all_parts, share_of
from regnas.models.ties import Consolidated, DecoupledDecay, MixedWeights, Tie
from regnas.models.trained import FeatureLesson, Lesson, Trained
from regnas.models.workshop import Workshop, make_all, training_macs

__all__ = [
    "BayesianUpdated",
    "Centric",
    "Checkpoint",
    "Consolidated",
    "DecoupledDecay",
    "Ensemble",
    "FeatureLesson",
    "FisherInterpolated",
    "FisherMerged",
    "Interpolated",
    "Lesson",
    "MixedWeights",
    "Model",
    "Published",
    "Soup",
    "Tie",
    "Trained",
    "Training",
    "Workshop",
    "all_parts",
    "content_of",
    "make_all",
    "network_of",
    "share_of",
    "training_macs",
    "weights_in",
]
