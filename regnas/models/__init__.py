"""Where a network comes from, as a value; the workshop makes it and keeps it by content."""

from regnas.models.clipped import ClippedTraining, clipped_steps, clipped_trainings
from regnas.models.combined import (
    BayesianUpdated,
    Centric,
    Ensemble,
    Interpolated,
    Soup,
    network_of,
    weights_in,
)
from regnas.models.content import content_of
from regnas.models.given import Checkpoint, Published
from regnas.models.model import Model, Training, all_parts, share_of
from regnas.models.ties import Consolidated, DecayedToOld, MixedWithOld, Tie
from regnas.models.trained import FeatureLesson, Lesson, Trained
from regnas.models.workshop import Workshop, make_all, training_macs

__all__ = [
    "BayesianUpdated",
    "Centric",
    "Checkpoint",
    "ClippedTraining",
    "Consolidated",
    "DecayedToOld",
    "Ensemble",
    "FeatureLesson",
    "Interpolated",
    "Lesson",
    "MixedWithOld",
    "Model",
    "Published",
    "Soup",
    "Tie",
    "Trained",
    "Training",
    "Workshop",
    "all_parts",
    "clipped_steps",
    "clipped_trainings",
    "content_of",
    "make_all",
    "network_of",
    "share_of",
    "training_macs",
    "weights_in",
]
