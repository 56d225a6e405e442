"""Training of supernets and of single networks."""

from regnas.training.averaging import AVERAGINGS, Averaging
from regnas.training.calibration import batches_of, calibrate, calibration_count, group_batch_size, parts_of, settle
from regnas.training.clipping import WARM_UP, Clipping, log_clipping
from regnas.training.constrained import ConstrainedObjective, HeldOut, WithMultipliers
from regnas.training.curriculum import Curriculum, TeachingTerm
from regnas.training.ends import Ends, ForkedTraining
from regnas.training.image_sizes import check_sizes
from regnas.training.initialization import INITIALIZATIONS, Initialization
from regnas.training.learning_rates import LEARNING_RATE_SCHEDULES, LearningRateSchedule
from regnas.training.objective import PASSES_OF_A_STEP, Objective, Step, SupernetObjective
from regnas.training.optimizers import OPTIMIZERS, Optimizer
from regnas.training.prediction import (
    Prepared,
    gather,
    logits_of,
    logits_on,
    prediction_batch,
    predictions_from,
    prepare_batch,
    prepare_spread_images,
    spread_images,
)
from regnas.training.recipe import RECIPE_PARTS, Recipe
from regnas.training.schedules import SCHEDULES, Schedule
from regnas.training.shrinking import SHRINKINGS, Shrinking
from regnas.training.side_by_side import PulledToMean, SideBySide, TwinBootstraps
from regnas.training.single_network import FeatureTerm, LogitTerm, SingleNetwork
from regnas.training.sub_networks import SUB_NETWORKS, Given, SubNetworks
from regnas.training.teachers import TEACHERS, Teacher, mean_logits
from regnas.training.ties import DecayToward, Mixing, QuadraticPenalty
from regnas.training.trainer import AfterEpoch, Trainer

__all__ = [
    "AVERAGINGS",
    "INITIALIZATIONS",
    "LEARNING_RATE_SCHEDULES",
    "OPTIMIZERS",
    "PASSES_OF_A_STEP",
    "RECIPE_PARTS",
    "SCHEDULES",
    "SHRINKINGS",
    "SUB_NETWORKS",
    "TEACHERS",
    "WARM_UP",
    "AfterEpoch",
    "Averaging",
    "Clipping",
    "ConstrainedObjective",
    "Curriculum",
    "DecayToward",
    "Ends",
    "FeatureTerm",
    "ForkedTraining",
    "Given",
    "HeldOut",
    "Initialization",
    "LearningRateSchedule",
    "LogitTerm",
    "Mixing",
    "Objective",
    "Optimizer",
    "Prepared",
    "PulledToMean",
    "QuadraticPenalty",
    "Recipe",
    "Schedule",
    "Shrinking",
    "SideBySide",
    "SingleNetwork",
    "Step",
    "SubNetworks",
    "SupernetObjective",
    "Teacher",
    "TeachingTerm",
    "Trainer",
    "TwinBootstraps",
    "WithMultipliers",
    "batches_of",
    "calibrate",
    "calibration_count",
    "check_sizes",
    "gather",
    "group_batch_size",
    "log_clipping",
    "logits_of",
    "logits_on",
    "mean_logits",
    "parts_of",
    "prediction_batch",
    "predictions_from",
    "prepare_batch",
    "prepare_spread_images",
    "settle",
    "spread_images",
]
