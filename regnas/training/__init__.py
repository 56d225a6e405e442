"""Training of supernets and of single networks."""

from regnas.training.calibration import calibrate
from regnas.training.objective import (
    Congruence,
    Objective,
    Sandwich,
    Step,
    SupernetObjective,
    mean_logits,
)
from regnas.training.prediction import first_images, logits_of, logits_on, predictions_from, prepared
from regnas.training.recipe import Augmentation, Recipe
from regnas.training.single_network import FeatureTerm, LogitTerm, SingleNetwork
from regnas.training.ties import Mixing, QuadraticPenalty
from regnas.training.trainer import Trainer

__all__ = [
    "Augmentation",
    "Congruence",
    "FeatureTerm",
    "LogitTerm",
    "Mixing",
    "Objective",
    "QuadraticPenalty",
    "Recipe",
    "Sandwich",
    "SingleNetwork",
    "Step",
    "SupernetObjective",
    "Trainer",
    "calibrate",
    "first_images",
    "logits_of",
    "logits_on",
    "mean_logits",
    "predictions_from",
    "prepared",
]
