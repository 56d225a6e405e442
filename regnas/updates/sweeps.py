"""Sweep one key of a method over a range of values, for a trade-off curve."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regnas.errors import ConfigurationError
from regnas.report.update.curves import SweepResult
from regnas.runs.folder import RunFolder
from regnas.runtime.files import read_sealed_list
from regnas.runtime.progress import track
from regnas.updates.job import UpdateJob
from regnas.updates.methods import METHODS, Method
from regnas.updates.models import Model
from regnas.updates.results import SweepPoint, summarize_sweep

SWEEPS = "sweeps.json"
MOST_POINTS = 1000  # of a sweep; more are probably a typo in the step


@dataclass(frozen=True)
class Sweep:
    """One key of one method over a range: ``bcwi.alpha=0:1:0.1``."""

    label: str
    key: str
    values: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> Sweep:
        """Read ``method.key=start:stop:step``."""
        place, equals, bounds = text.partition("=")
        label, dot, key = place.strip().partition(".")
        try:
            start, stop, step = (float(part) for part in bounds.split(":"))
        except ValueError:
            start, stop, step = 0.0, 0.0, 0.0
        possible = all(map(math.isfinite, (start, stop, step))) and step > 0 and start <= stop
        if not (equals and dot and label and key) or not possible or (stop - start) / step >= MOST_POINTS:
            example = f"method.key=start:stop:step, such as bcwi.alpha=0:1:0.1, with at most {MOST_POINTS} points"
            raise ConfigurationError(f'`sweeps` must be {example}, got "{text}"')
        count = int((stop - start) / step + 1e-9) + 1
        return cls(label, key, tuple(round(start + index * step, 10) for index in range(count)))

    def __str__(self) -> str:
        return f"{self.label}.{self.key}"

    def variants(self, methods: dict[str, Method]) -> dict[float, Method]:
        """Return the method with each value of the key; keys of a method that is not configured have their defaults."""
        try:
            method = methods[self.label] if self.label in methods else METHODS[self.label]()
        except ValueError as error:  # some methods have required keys
            raise ConfigurationError(f"`sweeps` {self}: methods.{self.label} must be configured: {error}") from None
        known = {entry.name: entry for entry in dataclasses.fields(method)}  # type: ignore[arg-type]
        if self.key not in known:
            raise ConfigurationError(f"`sweeps` {self}: {self.label} has no {self.key} (known: {', '.join(known)})")
        whole = isinstance(getattr(method, self.key), int)
        if not isinstance(getattr(method, self.key), int | float):
            raise ConfigurationError(f"`sweeps` {self}: {self.key} must be a number, got another kind of value")
        if whole and not all(value.is_integer() for value in self.values):
            raise ConfigurationError(f"`sweeps` {self}: start and step must be integers, because {self.key} is one")
        try:
            return {
                value: dataclasses.replace(method, **{self.key: int(value) if whole else value})  # type: ignore[type-var]
                for value in self.values
            }
        except ValueError as error:
            raise ConfigurationError(f"`sweeps` {self}: {error}") from None


def remembered_sweeps(folder: RunFolder, asked: Sequence[str]) -> dict[str, Sweep]:
    """Return the sweeps of this call and of earlier calls, by their texts: a later report keeps all curves."""
    path = folder.path / SWEEPS
    texts = [*(read_sealed_list(path, str, "texts") if path.exists() else []), *asked]
    sweeps = {str(sweep): (text, sweep) for text, sweep in ((text, Sweep.parse(text)) for text in texts)}
    return dict(sweeps.values())


def plan_sweep(job: UpdateJob, sweep: Sweep) -> dict[float, tuple[Model, ...]]:
    """Return the plan of the method at each value of the key."""
    variants: dict[float, Method] = sweep.variants(job.config.values.methods)
    return {value: method.plan(job.chain) for value, method in variants.items()}


def evaluate_sweep(
    job: UpdateJob, sweep: Sweep, curve: Mapping[float, tuple[Model, ...]], plain: tuple[Model, ...]
) -> SweepResult:
    """Measure the newest model at each value, on the report split and on the search split."""

    def point(value: float, plan: tuple[Model, ...]) -> SweepPoint:
        ends = (plan[0], plan[-1])
        searched = [job.predict(seed, ends, job.splits.search) for seed in job.seeds]
        return SweepPoint(value, [job.predict(seed, ends) for seed in job.seeds], searched)

    points = [point(value, plan) for value, plan in track(curve.items(), f"sweep {sweep}", len(curve))]
    untreated = point(math.nan, plain)
    method = next(iter(sweep.variants(job.config.values.methods).values()))
    return summarize_sweep(sweep.label, method.title.partition(" (")[0], sweep.key, points, untreated)
