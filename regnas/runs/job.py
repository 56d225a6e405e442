"""What all stages of a run share, made and checked before anything is trained."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regnas.comparison.selecting import predictions_on
from regnas.data import Splits
from regnas.errors import ArtifactError, ConfigurationError
from regnas.family.polishing import Polishing
from regnas.flips import Predictions
from regnas.runs.budgets import insert_added, parse_added
from regnas.runs.config import Config, LoadedConfig, assign, describe, parse_polish, timed
from regnas.runs.folder import RunFolder, check_space
from regnas.runtime.files import sha256_of
from regnas.runtime.processes import SINGLE, Processes
from regnas.search import OLD, Studies, open_storage, sqlite_storage
from regnas.search.evaluation import CalibrationImages, ExecutorChoice
from regnas.space import Budget, BudgetSampler, SearchSpace
from regnas.supernet import space_of
from regnas.supernet.imports import ImportedSupernet, find_weights
from regnas.training import Trainer, calibration_count, logits_on, predictions_from

log = logging.getLogger("regnas")


@dataclass(frozen=True)
class Job:
    """What all stages share."""

    config: LoadedConfig[Config]
    folder: RunFolder
    splits: Splits
    space: SearchSpace
    budgets: dict[str, Budget]  # of all members, those that were added later included
    trainer: Trainer
    device: torch.device
    executor: ExecutorChoice
    studies: Studies
    polishing: Polishing | None
    alpha: float | None  # the point of polishing that the user named
    old: dict[str, Predictions]  # of the search split, from which members must not regress

    @property
    def classes(self) -> int:
        return len(self.splits.classes)

    @property
    def calibration_images(self) -> CalibrationImages:
        values, size = self.config.values, self.splits.input_shape[1:]
        wanted = values.search.calibration_images, values.calibration_images
        return CalibrationImages(*(calibration_count(each, *size) for each in wanted))


@dataclass(frozen=True)
class PolishRequest:
    """What ``regnas polish`` was told: changes of the settings, and the point on the line."""

    sets: Sequence[str] = ()
    alpha: float | None = None


def prepare(
    config: LoadedConfig[Config],
    folder: RunFolder,
    executor: ExecutorChoice | None,
    added_budgets: Sequence[str],
    polish: PolishRequest | None = None,
    processes: Processes = SINGLE,
) -> Job:
    """Load the data and see that all that is asked for exists, before anything is trained."""
    values = config.values
    log.info("data: %s", describe(config.table, "data"))
    splits = values.data.load()
    folder.check_data(splits.summary())
    space = space_of(values.supernet, splits.input_shape, len(splits.classes))
    added = parse_added(added_budgets, folder.facts.get("added_budgets", {}))
    budgets = insert_added(values.budgets, added)
    space = timed(space, values.search, budgets, splits.input_shape, len(splits.classes))
    check_curriculum(values, space)
    check_budgets(budgets, space)
    wanted = _wanted_polishing(config, folder, polish)
    folder.keep("added_budgets", added)
    folder.keep("polish", wanted)
    imported = imported_weights(config, splits)
    if imported is not None:
        folder.check_file("weights", values.weights, imported.sha256)
    if values.search.latency_table:
        folder.check_file("latency_table", values.search.latency_table, sha256_of(Path(values.search.latency_table)))
    old = _old_predictions(values.search.old_predictions, splits, folder)
    device = processes.device(values.machine.device)
    recipe = values.training.over(folder.processes)  # whoever continues the run, its steps stay as large
    trainer = Trainer(recipe, splits.train, splits.preprocessing, device, processes)
    # Weights and momenta in two checkpoints and a third being written, for the supernet and each single training.
    trainings = 20 if values.training.epochs else 0
    check_space(folder.path, 3 * 2 * 4 * space.cost(space.largest).parameters * trainings + 2**24)
    executor = executor or ExecutorChoice(processes=values.machine.workers)
    if values.search.storage:  # which others use too
        studies = Studies(open_storage(values.search.storage), space, run=f"{folder.label}/")
    else:
        studies = Studies(open_storage(sqlite_storage(folder.study)), space)
    polishing = None if wanted is None else parse_polish(wanted["settings"])
    alpha = None if wanted is None else wanted["alpha"]
    return Job(config, folder, splits, space, budgets, trainer, device, executor, studies, polishing, alpha, old)


def _old_predictions(file: str, splits: Splits, folder: RunFolder) -> dict[str, Predictions]:
    """What search.old_predictions says about the search split; nothing where it names no file."""
    if not file:
        return {}
    split = splits.search
    targets = split.targets.numpy()
    truth = Predictions("search split", split.ids, targets, targets, groups=split.groups, split=split.digest)
    try:
        predictions = predictions_on(Path(file), truth, splits.classes)
    except ArtifactError as error:
        raise ArtifactError(
            f"search.old_predictions: {error}. Write the file with `regnas predict MODEL CONFIG --split search --out "
            "old.npz`"
        ) from None
    folder.check_file("old_predictions", file, sha256_of(Path(file)))
    return {OLD: predictions}


def _wanted_polishing(
    config: LoadedConfig[Config], folder: RunFolder, request: PolishRequest | None
) -> dict[str, Any] | None:
    """Settings and alpha: as the command says now, as it said before, or as the configuration has it."""
    known: dict[str, Any] | None = folder.facts.get("polish")
    if known is None and "polish" in config.table:
        known = {"settings": config.table["polish"], "alpha": None}
    if request is None:
        return known
    settings = copy.deepcopy(known["settings"]) if known else {}
    for assignment in request.sets:
        assign(settings, assignment)
    parse_polish(settings)  # refused before it is kept
    if request.alpha is not None and not 0 <= request.alpha <= 1:
        raise ConfigurationError(f"--alpha is {request.alpha:g}: it has to be between 0 (accuracy) and 1 (agreement)")
    return {"settings": settings, "alpha": request.alpha}


def check_curriculum(values: Config, space: SearchSpace) -> None:
    try:
        values.curriculum.check(space, values.training.ema_decay)
    except ValueError as error:
        raise ConfigurationError(f"curriculum: {error}") from None


def check_budgets(budgets: Mapping[str, Budget], space: SearchSpace) -> dict[str, float]:
    """The number of architectures inside each budget; an empty one is refused with the attainable range."""
    counts = {}
    for name, budget in budgets.items():
        sampler = BudgetSampler(space, budget)
        sampler.require_any(f"budgets.{name}")
        counts[name] = sampler.count
    return counts


def imported_weights(config: LoadedConfig[Config], splits: Splits) -> ImportedSupernet | None:
    """What the supernet starts from, if the configuration names it; refused where it does not belong."""
    values = config.values
    if not values.weights:
        return None
    return find_weights(values.weights, values.supernet, splits.input_shape, len(splits.classes))


def predict_report(job: Job, model: str, network: nn.Module) -> Predictions:
    """Predict the report split and keep it in the run folder."""
    logits = logits_on(network, job.splits.report, job.splits.preprocessing, job.device)
    predictions = predictions_from(model, logits, job.splits.report, keep_logits=True)
    predictions.save(job.folder.predictions / f"{model}.npz")
    return predictions
