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
from regnas.training import Recipe
from regnas.updates.methods import METHODS, Chain, ChainStage, Method, References, Release
from regnas.updates.methods.tunable import Chosen, check_chosen

EVERY_METHOD = "all"  # in by_epoch: every method whose new model is a single training


@dataclass(frozen=True)
class UpdateConfig:
    """``models`` follow one another from the oldest to the newest; ``methods`` are compared on all of them.

    ``references`` are tried one after the other if there are three models or more. ``fine_tuning`` is the recipe of
    every training that starts from another model's weights. ``chosen`` holds, for keys of methods that are "auto", what
    an earlier study chose; keys without an entry are chosen on the search split with the first ``tuning_seeds`` seeds.
    ``cache`` is the folder that keeps trained networks for further runs; by default ``regnas/models`` in
    ``$XDG_CACHE_HOME`` or ``~/.cache``.
    ``by_epoch`` names methods (or "all") whose flips are drawn against the epochs of the new model's training.
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

    def __post_init__(self) -> None:
        if len(self.models) < 2:
            raise ValueError("models needs at least two: the old one and the new one")
        if not self.methods:
            raise ValueError("methods is empty: name at least one, such as [methods.none]")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds are {list(self.seeds)}: at least one, and none twice")
        if not self.references or len(set(self.references)) < len(self.references):
            raise ValueError(f"references are {list(self.references)}: at least one, and none twice")
        if not 1 <= self.tuning_seeds <= len(self.seeds):
            raise ValueError(f"tuning_seeds is {self.tuning_seeds}: it has to lie between 1 and the number of seeds")
        check_chosen(self.chosen, self.methods, "methods")
        for section in ("training", "fine_tuning"):
            recipe = getattr(self, section)
            if recipe is not None and recipe.epochs < 1:
                raise ValueError(f"{section}: epochs must be at least 1")
        check_calibration(self.calibration_images)
        for label in [*self.models, *self.methods]:
            if not label.replace("-", "").replace("_", "").isalnum():
                raise ValueError(f'"{label}" becomes a file name: use letters, digits, - and _')
        check_by_epoch(self.by_epoch, self.methods)
        (first, oldest), *_, (last, newest) = self.models.items()
        if newest.checkpoint or not newest.trained:
            raise ValueError(f"models.{last} is there already: the newest model is the one that is trained")
        if oldest.start == "previous":
            raise ValueError(f'models.{first}.start is "previous", and there is none before it')
        for (before, older), (name, newer) in itertools.pairwise(self.models.items()):
            for key in ("samples", "classes"):
                if getattr(newer, key) < getattr(older, key):
                    raise ValueError(f"models.{name}.{key} is below that of models.{before}: data only grows")
            if newer.start == "previous" and newer.network != older.network:
                raise ValueError(f'models.{name}.start is "previous", but its network is not that of models.{before}')
            if newer.start == "previous" and newer.normalization != older.normalization:
                raise ValueError(
                    f'models.{name}.normalization must be that of models.{before}, because start is "previous"'
                )

    @property
    def chain(self) -> Chain:
        return Chain(tuple(ChainStage(name, release.reading) for name, release in self.models.items()))


def check_by_epoch(labels: Sequence[str], methods: Mapping[str, Method]) -> None:
    unknown = [label for label in labels if label not in methods and label != EVERY_METHOD]
    if unknown:
        known = ", ".join([*methods, EVERY_METHOD])
        raise ValueError(f'by_epoch must name methods, got "{unknown[0]}". Choose from {known}.')


def load_update(source: str, assignments: Sequence[str] = ()) -> LoadedConfig[UpdateConfig]:
    return parse_update(*load_table(source, assignments))


def parse_update(name: str, table: dict[str, Any], anchors: Anchors | None = None) -> LoadedConfig[UpdateConfig]:
    if not is_update(table) and "supernet" in table:
        raise ConfigurationError(f"{name} has a supernet and no models: it is for `regnas run {name}`")
    builder = Builder({DataSet: DATASETS, Network: NETWORKS, Method: METHODS}, anchors=anchors)
    values = builder.record(UpdateConfig, table, "")
    if builder.problems:
        raise ConfigurationError(*(f"{name}: {problem}" for problem in builder.problems))
    return LoadedConfig(name, table, values, anchors)
