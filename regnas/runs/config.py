"""Build a validated configuration from its tables, and report all problems at once."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import PlainValidator

from regnas.components.builder import Builder
from regnas.components.paths import Anchors, anchored_address, path_key
from regnas.components.rate import Rate, format_rate
from regnas.data import DATASETS, DataSet
from regnas.errors import ArtifactError, BudgetInfeasible, ConfigurationError
from regnas.family.polishing import Polishing
from regnas.losses import LOSSES, Loss
from regnas.runs.baselines import BASELINES, Baseline, check_baseline
from regnas.runs.tables import Changes, is_update, load_table
from regnas.runtime.secrets import recorded_address
from regnas.search import (
    ALGORITHMS,
    REWARDS,
    Evolution,
    Order,
    Reward,
    SearchAlgorithm,
    TopOne,
    TopOneAndFlips,
    check_order,
)
from regnas.space import Budget, LatencyTable, SearchSpace, latency_range, with_latencies
from regnas.supernet import SUPERNETS, InputShape, SupernetPlugin
from regnas.supernet.imports import anchored_weights
from regnas.training import (
    RECIPE_PARTS,
    SCHEDULES,
    SHRINKINGS,
    SUB_NETWORKS,
    TEACHERS,
    Curriculum,
    Recipe,
    Schedule,
    Shrinking,
    SubNetworks,
    Teacher,
)
from regnas.training.loggers import LOGGERS, Logger
from regnas.updates.methods.tunable import Chosen, check_chosen


def _parse_budget(value: object) -> Budget:
    if not isinstance(value, str):
        raise ValueError(f'a budget must be a text such as "300M +- 2 %" or "<= 300M", got {value!r}')
    return Budget.parse(value)


ParsedBudget = Annotated[Budget, PlainValidator(_parse_budget)]


def check_calibration(images: int | None) -> None:
    """Raise ``ValueError`` for too few calibration images."""
    if images is not None and images < 2:
        raise ValueError(f"calibration_images must be at least 2, got {images}")


@dataclass(frozen=True)
class SearchSettings:
    """How the members are found, with ``candidates`` per budget.

    ``order`` is one of: the smallest first and each next one above it, all of them jointly, or all read from one front.
    ``max_nfr`` limits the NFR of a member against every smaller one on the search split. ``old_predictions`` is a
    prediction file of the search split. Flips from these predictions count too, for the reward and the limit of every
    member.
    """

    candidates: int = 100
    calibration_images: int | None = None  # for candidates; with fewer images, their ranking changes a little
    reward: Reward = field(default_factory=TopOneAndFlips)
    algorithm: SearchAlgorithm = field(default_factory=Evolution)
    order: Order = "smallest_first"
    storage: str = path_key("", anchored_address)  # of the study; empty: study.db in the run folder
    latency_table: str = path_key("")  # the file that `regnas latency-table` wrote, where budgets limit milliseconds
    max_nfr: Rate | None = None
    old_predictions: str = path_key("")

    def __post_init__(self) -> None:
        if self.candidates < 1:
            raise ValueError(f"candidates must be at least 1, got {self.candidates}")
        check_calibration(self.calibration_images)
        check_order(self.order, self.algorithm)
        if self.old_predictions and isinstance(self.reward, TopOne) and self.max_nfr is None:
            raise ValueError(
                "old_predictions must be used by max_nfr or by a reward with flips, got R0 without max_nfr. Set "
                "max_nfr, or choose R1 or R2."
            )

    @property
    def flips_counted(self) -> str:
        """The limit and the old predictions in words; empty if there is neither."""
        limit = "" if self.max_nfr is None else f", NFR at most {format_rate(self.max_nfr)} on the search split"
        return limit + (f", flips from {Path(self.old_predictions).name} included" if self.old_predictions else "")


@dataclass(frozen=True)
class Machine:
    """``threads`` per process (0: torch's own number), ``workers`` processes for independent trainings."""

    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    threads: int = 0
    workers: int = 1

    def __post_init__(self) -> None:
        if self.threads < 0 or self.workers < 1:
            raise ValueError(
                f"threads must be at least 0 and workers at least 1, got {self.threads} and {self.workers}"
            )


@dataclass(frozen=True)
class Config:
    """The configuration of ``regnas run``."""

    data: DataSet
    supernet: SupernetPlugin
    budgets: dict[str, ParsedBudget]  # by member, from the smallest to the largest
    training: Recipe = field(default_factory=Recipe)
    curriculum: Curriculum = field(default_factory=Curriculum)  # of the supernet
    polish: Polishing | None = None  # of the members, once they are found
    search: SearchSettings = field(default_factory=SearchSettings)
    baselines: dict[str, Baseline] = field(default_factory=dict)
    chosen: Chosen = field(default_factory=dict)  # the choices of an earlier run for keys of baselines that are "auto"
    machine: Machine = field(default_factory=Machine)
    loggers: tuple[Logger, ...] = ()
    calibration_images: int | None = None  # for all networks that are exported and reported; None: enough
    # The weights that the supernet starts from: the name or the file of an imported one; empty: random weights.
    weights: str = path_key("", anchored_weights)
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.budgets:
            raise ValueError("budgets must name at least one member, got none")
        check_calibration(self.calibration_images)
        if not self.training.epochs and not self.weights:
            raise ValueError("training: epochs must be at least 1, unless weights names an imported supernet")
        if self.weights and self.training.initialization:
            raise ValueError("training.initialization must be empty if weights names an imported supernet. Remove one.")
        if self.polish is not None:
            self.polish.recipe(self.training)
        for label, baseline in self.baselines.items():
            check_baseline(label, baseline, trains=self.training.epochs > 0)
        check_chosen(self.chosen, self.baselines, "baselines")
        ordered = list(self.budgets.items())
        for (small, low), (large, high) in itertools.pairwise(ordered):
            if low == high:
                raise ValueError(f"budgets.{large} must differ from budgets.{small}, got {high} for both")
            if not high.exceeds(low):
                raise ValueError(f"budgets.{large} ({high}) must be larger than budgets.{small} ({low}) before it")
        for name in self.budgets:
            if not name.replace("-", "").replace("_", "").isalnum():
                raise ValueError(f'names of budgets must have only letters, digits, - and _, got "{name}"')


Values = TypeVar("Values")


@dataclass(frozen=True)
class LoadedConfig(Generic[Values]):
    """A configuration and the table that it was read from, which the run folder keeps."""

    name: str
    table: dict[str, Any]
    values: Values
    anchors: Anchors | None = None  # of relative paths; None: the working directory


def load_config(source: str, changes: Changes = ()) -> LoadedConfig[Config]:
    """Load the configuration of a run from a file or a preset, with changed keys."""
    return parse_config(*load_table(source, changes))


def parse_config(name: str, table: dict[str, Any], anchors: Anchors | None = None) -> LoadedConfig[Config]:
    """Build the configuration of a run from its tables; report all problems at once."""
    if is_update(table):
        raise ConfigurationError(f"{name} has models and methods: it is for `regnas update {name}`")
    builder = _builder(anchors)
    values = builder.record(Config, table, "")
    if builder.problems:
        raise ConfigurationError(*(f"{name}: {problem}" for problem in builder.problems))
    return LoadedConfig(name, _without_secrets(table), values, anchors)


def _without_secrets(table: dict[str, Any]) -> dict[str, Any]:
    """Return the table without passwords, for the run folder, which others may read."""
    storage = table.get("search", {}).get("storage", "")
    return {**table, "search": {**table["search"], "storage": recorded_address(storage)}} if storage else table


def parse_polish(table: Mapping[str, Any]) -> Polishing:
    """Build the settings of ``[polish]`` from a table."""
    builder = _builder()
    settings: Polishing = builder.record(Polishing, table, "polish")
    if builder.problems:
        raise ConfigurationError(*builder.problems)
    return settings


def _builder(anchors: Anchors | None = None) -> Builder:
    return Builder(
        {
            DataSet: DATASETS,
            SupernetPlugin: SUPERNETS,
            Loss: LOSSES,
            Reward: REWARDS,
            SearchAlgorithm: ALGORITHMS,
            Baseline: BASELINES,
            SubNetworks: SUB_NETWORKS,
            Teacher: TEACHERS,
            Schedule: SCHEDULES,
            Shrinking: SHRINKINGS,
            **RECIPE_PARTS,
            Logger: LOGGERS,
        },
        anchors=anchors,
    )


def timed(
    space: SearchSpace, settings: SearchSettings, budgets: Mapping[str, Budget], input_shape: InputShape, classes: int
) -> SearchSpace:
    """Add the latencies of the table that the search names to the space; without a table, leave it unchanged.

    A limit below the fastest network is refused here, because the sampler rounds measured costs and would refuse late.
    """
    if not settings.latency_table:
        unknown = [name for name, budget in budgets.items() if budget.max_latency is not None]
        if unknown:
            raise ConfigurationError(
                f"search.latency_table must name a file, because budgets.{unknown[0]} limits the latency, got none. "
                "Measure one with `regnas latency-table CONFIG`."
            )
        return space
    path = Path(settings.latency_table)
    if not path.is_file():
        raise ArtifactError(
            f"search.latency_table must be an existing file, got {path}. Measure it with `regnas latency-table CONFIG`."
        )
    table = LatencyTable.load(path)
    table.require(space, input_shape, classes, path)
    space = with_latencies(space, table)
    quickest, slowest = latency_range(space)
    for name, budget in budgets.items():
        if budget.max_latency is not None and budget.max_latency < quickest:
            raise BudgetInfeasible(
                f"budgets.{name}: no architecture takes at most {budget.max_latency:g} ms; the attainable range is "
                f"{quickest:.3g} to {slowest:.3g} ms ({table.conditions}). Raise the limit."
            )
    return space
