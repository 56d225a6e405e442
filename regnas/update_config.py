"""The configuration of ``regnas update``."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from regnas.components import Builder
from regnas.config import LoadedConfig, Machine, is_update, load_table
from regnas.data import DATASETS, DataSet
from regnas.errors import ConfigurationError
from regnas.methods import METHODS, Method, References, Release
from regnas.networks import NETWORKS, Network
from regnas.training import Recipe

MOST_POINTS = 1000  # of a sweep; a step with too many zeros is a mistake


@dataclass(frozen=True)
class UpdateConfig:
    """``models`` follow one another from the oldest to the newest; ``methods`` are compared on all of them.

    ``references`` are tried one after the other where there are three models or more. ``fine_tuning`` is the recipe of
    every training that starts from another model's weights. ``cache`` keeps trained networks for further runs.
    """

    data: DataSet
    models: dict[str, Release]
    methods: dict[str, Method]
    training: Recipe = field(default_factory=Recipe)
    fine_tuning: Recipe | None = None
    references: tuple[References, ...] = ("chain",)
    seeds: tuple[int, ...] = (0,)
    calibration_images: int = 512
    cache: str = "~/.cache/regnas/models"
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
        if self.calibration_images < 2:
            raise ValueError("calibration_images must be at least 2")
        for label in [*self.models, *self.methods]:
            if not label.replace("-", "").replace("_", "").isalnum():
                raise ValueError(f'"{label}" becomes a file name: use letters, digits, - and _')
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


def load_update(source: str, assignments: Sequence[str] = ()) -> LoadedConfig[UpdateConfig]:
    return parse_update(*load_table(source, assignments))


def parse_update(name: str, table: dict[str, Any]) -> LoadedConfig[UpdateConfig]:
    if not is_update(table) and "supernet" in table:
        raise ConfigurationError(f"{name} has a supernet and no models: it is for `regnas run {name}`")
    builder = Builder({DataSet: DATASETS, Network: NETWORKS, Method: METHODS})
    values = builder.record(UpdateConfig, table, "")
    if builder.problems:
        raise ConfigurationError(*(f"{name}: {problem}" for problem in builder.problems))
    return LoadedConfig(name, table, values)


@dataclass(frozen=True)
class Sweep:
    """One key of one method over a range: ``bcwi.alpha=0:1:0.1``."""

    label: str
    key: str
    values: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> Sweep:
        place, equals, bounds = text.partition("=")
        label, dot, key = place.strip().partition(".")
        try:
            start, stop, step = (float(part) for part in bounds.split(":"))
        except ValueError:
            start, stop, step = 0.0, 0.0, 0.0
        possible = all(map(math.isfinite, (start, stop, step))) and step > 0 and start <= stop
        if not (equals and dot and label and key) or not possible or (stop - start) / step >= MOST_POINTS:
            example = f"method.key=start:stop:step, such as bcwi.alpha=0:1:0.1, with at most {MOST_POINTS} points"
            raise ConfigurationError(f'--sweep takes {example}, not "{text}"')
        count = int((stop - start) / step + 1e-9) + 1
        return cls(label, key, tuple(round(start + index * step, 10) for index in range(count)))

    def __str__(self) -> str:
        return f"{self.label}.{self.key}"

    def variants(self, methods: dict[str, Method]) -> dict[float, Method]:
        """The method with each value in place of the key; a method that is not configured has its defaults."""
        try:
            method = methods[self.label] if self.label in methods else METHODS[self.label]()
        except ValueError as error:  # there are methods without defaults
            raise ConfigurationError(f"--sweep {self}: methods.{self.label} has to be configured: {error}") from None
        known = {entry.name: entry for entry in dataclasses.fields(method)}  # type: ignore[arg-type]
        if self.key not in known:
            raise ConfigurationError(f"--sweep {self}: {self.label} has no {self.key} (known: {', '.join(known)})")
        whole = isinstance(getattr(method, self.key), int)
        if not isinstance(getattr(method, self.key), int | float):
            raise ConfigurationError(f"--sweep {self}: {self.key} is not a number")
        if whole and not all(value.is_integer() for value in self.values):
            raise ConfigurationError(f"--sweep {self}: {self.key} is a whole number, so start and step have to be too")
        try:
            return {
                value: dataclasses.replace(method, **{self.key: int(value) if whole else value})  # type: ignore[type-var]
                for value in self.values
            }
        except ValueError as error:
            raise ConfigurationError(f"--sweep {self}: {error}") from None
