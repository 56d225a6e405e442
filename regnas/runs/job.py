"""The state that all stages of a run share, loaded and checked before anything is trained."""

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
from regnas.family.polishing import Images, Polishing
from regnas.flips import Predictions
from regnas.runs.budgets import insert_added, parse_added
from regnas.runs.config import Config, LoadedConfig, parse_polish, timed
from regnas.runs.folder import RunFolder, check_space
from regnas.runs.later_members import POLISHED_MEMBERS, check_all_found, polished_members
from regnas.runs.recipe_checks import check_recipe
from regnas.runs.searched_images import HELD_OUT, divide, share_to_hold_out
from regnas.runs.tables import Changes, change, describe, parse_changes
from regnas.runtime.files import sha256_of
from regnas.runtime.processes import SINGLE, Processes
from regnas.search import OLD, Studies, open_storage, sqlite_storage
from regnas.search.evaluation import CalibrationImages, ExecutorChoice
from regnas.space import Budget, BudgetSampler, SearchSpace
from regnas.supernet import space_of
from regnas.supernet.imports import ImportedSupernet, find_weights
from regnas.training import Trainer, calibration_count, logits_on, predictions_from
from regnas.training.loggers import RunLoggers

log = logging.getLogger("regnas")


@dataclass(frozen=True)
class PolishRequest:
    """A request to polish: changes of the settings in ``[polish]``, and the point on the line."""

    changes: Changes = ()
    alpha: float | None = None


@dataclass(frozen=True)
class WantedPolishing:
    """The requested polishing: the table of settings, and the point that the user named."""

    table: Mapping[str, Any]
    alpha: float | None

    @property
    def settings(self) -> Polishing:
        return parse_polish(self.table)

    def to_json(self) -> dict[str, Any]:
        """Return the fact that the run records."""
        return {"settings": self.table, "alpha": self.alpha}


@dataclass(frozen=True)
class Job:
    """The state that all stages share."""

    config: LoadedConfig[Config]
    folder: RunFolder
    splits: Splits
    space: SearchSpace
    budgets: dict[str, Budget]  # of all members, including those that were added later
    added: Mapping[str, str]  # the budgets that were added later, as they were given
    trainer: Trainer
    device: torch.device
    executor: ExecutorChoice
    studies: Studies
    images: Images  # of the search split: images of the search, and images that decide about polishing
    polishing: WantedPolishing | None
    polished_members: tuple[str, ...] | None  # None: all members are polished together
    old: dict[str, Predictions]  # on the search split, of models from which members must not regress

    @property
    def added_later(self) -> list[str]:
        """The members that were added after the others were polished."""
        return [name for name in self.added if self.polished_members is not None and name not in self.polished_members]

    @property
    def classes(self) -> int:
        return len(self.splits.classes)

    @property
    def calibration_images(self) -> CalibrationImages:
        values, size = self.config.values, self.splits.input_shape[1:]
        wanted = values.search.calibration_images, values.calibration_images
        return CalibrationImages(*(calibration_count(each, *size) for each in wanted))


def prepare(
    config: LoadedConfig[Config],
    folder: RunFolder,
    executor: ExecutorChoice | None,
    added_budgets: Sequence[str],
    polish: PolishRequest | None = None,
    processes: Processes = SINGLE,
) -> Job:
    """Load the data and check that everything that the run needs exists, before anything is trained.

    Quick checks come before the data are loaded. A request is recorded only after all checks.
    """
    values = config.values
    added = parse_added(added_budgets, folder.facts.get("added_budgets", {}))
    budgets = insert_added(values.budgets, added)
    polishing = _wanted_polishing(config, folder, polish)
    polished = polished_members(folder, values.budgets)
    if polish is not None:
        check_all_found(folder, polished)
    if polishing is None or (polish is not None and polish.alpha is None):
        polished = None  # all members are polished together
    storage = open_storage(values.search.storage) if values.search.storage else None
    if executor is not None and processes.is_main:
        executor.check()

    log.info("data: %s", describe(config.table, "data"))
    splits = values.data.load()
    folder.check_data(splits.summary())
    space = space_of(values.supernet, splits.input_shape, len(splits.classes))
    space = timed(space, values.search, budgets, splits.input_shape, len(splits.classes))
    check_curriculum(values, space)
    check_recipe(values, splits, space, None if polishing is None else polishing.settings)
    check_networks(values, space, splits)
    check_budgets(budgets, space)
    imported = imported_weights(config, splits)
    if imported is not None:
        folder.check_file("weights", values.weights, imported.sha256)
    if values.search.latency_table:
        folder.check_file("latency_table", values.search.latency_table, sha256_of(Path(values.search.latency_table)))
    old = _old_predictions(values.search.old_predictions, splits, folder)
    device = processes.device(values.machine.device)
    # Weights and momenta in two checkpoints and a third being written, for the supernet and each single training.
    trainings = 20 if values.training.epochs else 0
    check_space(folder.path, 3 * 2 * 4 * space.cost(space.largest).parameters * trainings + 2**24)
    if storage is not None:  # which other runs may share
        studies = Studies(storage, space, run=f"{folder.label}/")
    else:
        studies = Studies(open_storage(sqlite_storage(folder.study)), space)

    share = share_to_hold_out(
        folder,
        None if polishing is None else polishing.settings,
        {} if polish is None else parse_changes(polish.changes),
        searched=bool(studies.names()),
    )

    folder.keep(HELD_OUT, share)
    folder.keep("added_budgets", added)
    if polished is not None:
        folder.keep(POLISHED_MEMBERS, list(polished))
    else:
        folder.forget(POLISHED_MEMBERS)
    folder.keep("polish", None if polishing is None else polishing.to_json())
    recipe = values.training.over(folder.processes)  # a continued run keeps the size of its steps
    return Job(
        config=config,
        folder=folder,
        splits=splits,
        space=space,
        budgets=budgets,
        added=added,
        trainer=Trainer(recipe, splits.train, splits.preprocessing, device, processes, loggers_of(config, folder)),
        device=device,
        executor=executor or ExecutorChoice(processes=values.machine.workers),
        studies=studies,
        images=divide(splits.search, share, values.seed),
        polishing=polishing,
        polished_members=polished,
        old=old,
    )


def loggers_of(config: LoadedConfig[Any], folder: RunFolder) -> RunLoggers:
    """Return the loggers of a run or an update with what they are told about it."""
    identity = str(folder.facts.get("id", folder.facts["digest"]))
    return RunLoggers(config.values.loggers, config.name, identity, config.table, folder.path)


def _old_predictions(file: str, splits: Splits, folder: RunFolder) -> dict[str, Predictions]:
    """Read search.old_predictions on the search split; return nothing if it names no file."""
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
            "old.npz`."
        ) from None
    folder.check_file("old_predictions", file, sha256_of(Path(file)))
    return {OLD: predictions}


def _wanted_polishing(
    config: LoadedConfig[Config], folder: RunFolder, request: PolishRequest | None
) -> WantedPolishing | None:
    """Return the settings and alpha of this request, of an earlier one, or of the configuration."""
    known: dict[str, Any] | None = folder.facts.get("polish")
    if known is None and "polish" in config.table:
        known = {"settings": config.table["polish"], "alpha": None}
    if request is None:
        return None if known is None else WantedPolishing(known["settings"], known["alpha"])
    settings = copy.deepcopy(known["settings"]) if known else {}
    change(settings, request.changes)
    try:
        parse_polish(settings).recipe(config.values.training)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    if request.alpha is not None and not 0 <= request.alpha <= 1:
        raise ConfigurationError(f"alpha must be between 0 (accuracy) and 1 (agreement), got {request.alpha:g}")
    return WantedPolishing(settings, request.alpha)


def check_curriculum(values: Config, space: SearchSpace) -> None:
    """Refuse a curriculum that does not fit the space."""
    try:
        values.curriculum.check(space, values.training.weight_averaging.keeps)
    except ValueError as error:
        raise ConfigurationError(f"curriculum: {error}") from None


def check_networks(values: Config, space: SearchSpace, splits: Splits) -> None:
    """Refuse a recipe for layers that the supernet or the networks of the baselines do not have.

    The smallest network has the fewest layers.
    """
    recipe, shape, classes = values.training, splits.input_shape, len(splits.classes)
    if recipe.names_layers and recipe.epochs:
        with torch.random.fork_rng(devices=[]):
            recipe.check_network(values.supernet.supernet(shape, classes))
            if values.baselines:
                recipe.check_network(values.supernet.network(space.smallest, shape, classes))


def check_budgets(budgets: Mapping[str, Budget], space: SearchSpace) -> dict[str, float]:
    """Count the architectures inside each budget; refuse an empty one with the attainable range."""
    counts = {}
    for name, budget in budgets.items():
        sampler = BudgetSampler(space, budget)
        sampler.require_any(f"budgets.{name}")
        counts[name] = sampler.count
    return counts


def imported_weights(config: LoadedConfig[Config], splits: Splits) -> ImportedSupernet | None:
    """Find the weights that the supernet starts from, if the configuration names them; refuse other weights."""
    values = config.values
    if not values.weights:
        return None
    return find_weights(values.weights, values.supernet, splits.input_shape, len(splits.classes))


def predict_report(job: Job, model: str, network: nn.Module) -> Predictions:
    """Predict the report split and keep the predictions in the run folder."""
    logits = logits_on(network, job.splits.report, job.splits.preprocessing, job.device)
    predictions = predictions_from(model, logits, job.splits.report, keep_logits=True)
    predictions.save(job.folder.predictions / f"{model}.npz")
    return predictions
