"""The configuration of ``regnas update``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regnas.components.builder import Builder
from regnas.components.paths import Anchors, path_key
from regnas.data import DATASETS, DataSet
from regnas.errors import ConfigurationError
from regnas.networks import NETWORKS, Network
from regnas.runs.config import LoadedConfig, Machine, check_calibration
from regnas.runs.tables import is_update, load_table
from regnas.training import RECIPE_PARTS, Recipe
from regnas.training.loggers import LOGGERS, Logger
from regnas.updates.methods import METHODS, Chain, ChainStage, Method, References, Release
from regnas.updates.methods.tunable import Chosen, check_chosen

EVERY_METHOD = "all"  # in by_epoch: every method whose new model is a single training


@dataclass(frozen=True)
class UpdateConfig:
    """The models of an update, from the oldest to the newest, and the methods that are compared on them.

    ``references`` are tried one after the other if there are three models or more. ``fine_tuning`` is the recipe of
    every training that starts from another model's weights. ``chosen`` holds the choices of an earlier study for keys
    that are "auto". Keys without a choice are chosen on the search split with the first ``tuning_seeds`` seeds.
    ``cache`` is the folder that keeps trained networks for further runs, by default ``regnas/models`` in
    ``$XDG_CACHE_HOME`` or ``~/.cache``. ``by_epoch`` names methods (or "all") whose flips are drawn against the epochs
    of the new model's training.
    """

    data: DataSet
    models: dict[str, Release]
    methods: dict[str, Method]
    training: Recipe = field(default_factory=Recipe)
    fine_tuning: Recipe | None = None
    chosen: Chosen = field(default_factory=dict)
    tuning_seeds: int = 1
    references: tuple[References, ...] = ("chain",)
    seeds: tuple[int, ...] = (0,)
    calibration_images: int | None = None  # as many as are enough
    by_epoch: tuple[str, ...] = ()
    cache: str = path_key("")
    machine: Machine = field(default_factory=Machine)
    loggers: tuple[Logger, ...] = ()

    def __post_init__(self) -> None:
        if len(self.models) < 2:
            raise ValueError(f"models must name at least two models, the old and the new one, got {len(self.models)}")
        if not self.methods:
            raise ValueError("methods must name at least one method, got none. Write [methods.none].")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds must be one or more different numbers, got {list(self.seeds)}")
        if not self.references or len(set(self.references)) < len(self.references):
            raise ValueError(f"references must be one or more different kinds, got {list(self.references)}")
        if not 1 <= self.tuning_seeds <= len(self.seeds):
            raise ValueError(
                f"tuning_seeds must be between 1 and the number of seeds, {len(self.seeds)}, got {self.tuning_seeds}"
            )
        check_chosen(self.chosen, self.methods, "methods")
        for section in ("training", "fine_tuning"):
            recipe = getattr(self, section)
            if recipe is not None and recipe.epochs < 1:
                raise ValueError(f"{section}: epochs must be at least 1")
        if self.fine_tuning is not None and self.fine_tuning.initialization:
            raise ValueError(
                "fine_tuning.initialization must be empty, because fine-tuning starts from other weights. Remove it."
            )
        check_calibration(self.calibration_images)
        for label in [*self.models, *self.methods]:
            if not label.replace("-", "").replace("_", "").isalnum():
                raise ValueError(f'names of models and methods must have only letters, digits, - and _, got "{label}"')
        check_by_epoch(self.by_epoch, self.methods)
        (first, oldest), *_, (last, newest) = self.models.items()
        if newest.checkpoint or not newest.trained:
            raise ValueError(f"models.{last} is the newest model and must be trained, got one with existing weights")
        if oldest.start == "previous":
            raise ValueError(f'models.{first}.start must be "fresh" for the oldest model, got "previous"')
        for (before, older), (name, newer) in itertools.pairwise(self.models.items()):
            for key in ("samples", "classes"):
                if getattr(newer, key) < getattr(older, key):
                    raise ValueError(
                        f"models.{name}.{key} must be at least that of models.{before}, {getattr(older, key):g}, got "
                        f"{getattr(newer, key):g}"
                    )
            if newer.start == "previous" and newer.network != older.network:
                raise ValueError(f'models.{name}.network must be that of models.{before}, because start is "previous"')
            if newer.start == "previous" and newer.normalization != older.normalization:
                raise ValueError(
                    f'models.{name}.normalization must be that of models.{before}, because start is "previous"'
                )

    @property
    def chain(self) -> Chain:
        return Chain(tuple(ChainStage(name, release.reading) for name, release in self.models.items()))


def check_by_epoch(labels: Sequence[str], methods: Mapping[str, Method]) -> None:
    """Refuse labels that are neither methods nor "all"."""
    unknown = [label for label in labels if label not in methods and label != EVERY_METHOD]
    if unknown:
        known = ", ".join([*methods, EVERY_METHOD])
        raise ValueError(f'by_epoch must name methods, got "{unknown[0]}". Choose from {known}.')


def load_update(source: str, assignments: Sequence[str] = ()) -> LoadedConfig[UpdateConfig]:
    """Load the configuration of an update from a file or a preset, with changed keys."""
    return parse_update(*load_table(source, assignments))


def parse_update(name: str, table: dict[str, Any], anchors: Anchors | None = None) -> LoadedConfig[UpdateConfig]:
    """Build the configuration of an update from its tables; report all problems at once."""
    if not is_update(table) and "supernet" in table:
        raise ConfigurationError(f"{name} has a supernet and no models: it is for `regnas run {name}`")
    builder = Builder(
        {DataSet: DATASETS, Network: NETWORKS, Method: METHODS, Logger: LOGGERS, **RECIPE_PARTS}, anchors=anchors
    )
    values = builder.record(UpdateConfig, table, "")
    if builder.problems:
        raise ConfigurationError(*(f"{name}: {problem}" for problem in builder.problems))
    return LoadedConfig(name, table, values, anchors)
