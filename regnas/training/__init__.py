"""Training of supernets and of single networks."""

from regnas.training.calibration import calibrate
from regnas.training.objective import (
    Congruence,
    Objective,
    Sandwich,
    SingleNetwork,
    Step,
    SupernetObjective,
    mean_logits,
)
from regnas.training.recipe import Augmentation, Recipe
from regnas.training.trainer import Trainer

__all__ = [
    "Augmentation",
    "Congruence",
    "Objective",
    "Recipe",
    "Sandwich",
    "SingleNetwork",
    "Step",
    "SupernetObjective",
    "Trainer",
    "calibrate",
    "mean_logits",
]
