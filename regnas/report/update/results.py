"""The results of an update, as values; ``update.json`` is their JSON. Every renderer reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regnas.components.registry import nearest
from regnas.errors import UnknownName
from regnas.report.diagnostics import FlipDiagnostics
from regnas.report.kit.frames import Library
from regnas.report.kit.json_values import JsonResult, Text
from regnas.report.tuning import Choice
from regnas.report.update.curves import FlipsByEpoch, SweepResult
from regnas.report.update.measures import Measure
from regnas.report.update.methods import UNTREATED, MethodResult
from regnas.runtime.files import write_or_return


@dataclass(frozen=True)
class NoiseFloor:
    """The NFR between two trainings of the newest model that differ only in their random draws."""

    model: Text
    nfr: Measure
    error_rate: Measure


@dataclass(frozen=True)
class ClippedSteps:
    """The steps after the warm-up, and those among them whose gradients were clipped."""

    clip_norm: float | None  # None: gradients were not clipped
    steps: int
    clipped: int
    share: float


@dataclass(frozen=True)
class TrainingClipping:
    """A training, the first method that needs it, and its clipped steps; None if they were not recorded."""

    method: Text
    training: Text
    seed: int | None
    clipping: ClippedSteps | None


@dataclass(frozen=True, repr=False)
class UpdateResult(JsonResult):
    """Every number of an update, as ``regnas.update(...).results`` returns it.

    Attributes:
        title: The name of the update.
        scenario: What changes from the oldest model to the newest, in words.
        models: The names of the models, the oldest first.
        seeds: The seeds.
        samples: The number of samples of the report split.
        clusters: The number of independent clusters of samples; the number of samples if there are no groups.
        interval_level: The level of all intervals, 0.95.
        noise_floor: The NFR between two trainings of the same recipe.
        methods: The methods, in the order of the configuration.
        sweeps: Methods at several values of a key.
        facts: Data, networks, recipes and versions, in words.
        tuning: Keys that are "auto", with their choices.
        diagnostics: Which samples flip; None without logits.
        by_epoch: Flips by epoch of the methods for which they were requested.
        clipping: How many steps were clipped in each training.

    Example:
        >>> import regnas
        >>> results = regnas.open_update("runs/update_digits").results  # doctest: +SKIP
        >>> results["focal_distillation_lm"].mean_nfr.mean  # doctest: +SKIP
        >>> results["focal_distillation_lm"].mean_nfr_difference.interval  # doctest: +SKIP
    """

    title: Text
    scenario: Text
    models: tuple[Text, ...]
    seeds: tuple[int, ...]
    samples: int
    clusters: int
    interval_level: float
    noise_floor: NoiseFloor
    methods: tuple[MethodResult, ...]
    sweeps: tuple[SweepResult, ...]
    facts: Mapping[Text, Text]
    tuning: tuple[Choice, ...]
    diagnostics: FlipDiagnostics | None
    by_epoch: tuple[FlipsByEpoch, ...]
    clipping: tuple[TrainingClipping, ...]

    def __post_init__(self) -> None:
        pairs = len(self.models) * (len(self.models) - 1) // 2
        for place, method in enumerate(self.methods):
            for what, expected in (("error_rates", len(self.models)), ("pairs", pairs)):
                if (found := len(getattr(method, what))) != expected:
                    count = f"{expected} entries for {len(self.models)} models"
                    raise ValueError(f"methods[{place}].{what} must have {count}, got {found}")

    def __getitem__(self, label: str) -> MethodResult:
        """Return the method of this label: ``results["elodi"]``."""
        for method in self.methods:
            if method.label == label:
                return method
        labels = [method.label for method in self.methods]
        raise UnknownName(f'no method "{label}"{nearest(str(label), labels)} (methods: {", ".join(labels)})')

    def __iter__(self) -> Iterator[MethodResult]:
        return iter(self.methods)

    @property
    def is_chain(self) -> bool:
        """Whether there are three or more models."""
        return len(self.models) > 2

    @property
    def untreated(self) -> MethodResult | None:
        """The method "none", if it is among the methods."""
        return next((method for method in self.methods if method.name == UNTREATED), None)

    @property
    def titles(self) -> tuple[str, ...]:
        """The title of each method, with its label if two methods share a title."""
        count = Counter(method.title for method in self.methods)
        return tuple(
            method.title if count[method.title] == 1 else f"{method.title} ({method.label})" for method in self.methods
        )

    def nfr_matrix(self, method: MethodResult) -> list[list[Measure | None]]:
        """Return the NFR of each pair, None below the diagonal.

        Rows are references without the last model, columns are new models without the first.
        """
        known = {(pair.reference, pair.new): pair.nfr for pair in method.pairs}
        return [[known.get((reference, new)) for new in self.models[1:]] for reference in self.models[:-1]]

    def to_frame(self, by: Literal["pair"] | None = None, library: Library = "pandas") -> Any:
        """Return a data frame with one row per method.

        Args:
            by: "pair": one row per method and pair of models.
            library: "pandas", "polars" or "pyarrow".

        Returns:
            A frame of that library.
        """
        from regnas.report.update.frames import to_frame

        return to_frame(self, by, library)

    def to_markdown(self) -> str:
        """Return the verdict and the tables as Markdown."""
        from regnas.report.update.tables import update_markdown

        return update_markdown(self)

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Write the page of the report, which works offline, to ``path``; without a path, return it."""
        from regnas.report.update.report import html_text

        return write_or_return(html_text(self), path)

    def _repr_html_(self) -> str:
        from regnas.report.update.notebook import results_table

        return results_table(self)

    def __repr__(self) -> str:
        from regnas.report.update.notebook import results_summary

        return results_summary(self)
