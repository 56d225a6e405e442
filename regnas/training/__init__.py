"""Training of supernets and of single networks."""

from regnas.training.calibration import calibrate, calibrating, calibration_batch
from regnas.training.objective import (
    Congruence,
    Objective,
    Sandwich,
    Step,
    SupernetObjective,
    mean_logits,
)
from regnas.training.prediction import (
    first_images,
    gathered,
    logits_of,
    logits_on,
    prediction_batch,
    predictions_from,
    prepared,
    spread_images,
)
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
    "calibrating",
    "calibration_batch",
    "first_images",
    "gathered",
    "logits_of",
    "logits_on",
    "mean_logits",
    "prediction_batch",
    "predictions_from",
    "prepared",
    "spread_images",
]
