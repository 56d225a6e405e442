"""Write the numbers of the study for its tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from regnas.report.kit.formatting import percent, signed_percent
from regnas.report.kit.markdown import markdown_table

Measure = Mapping[str, Any]
NOTHING = "–"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], words: Collection[str] = ()) -> str:
    """Return a table with numbers aligned right; the first column and those in ``words`` are aligned left."""
    first, _, *others = markdown_table(header, rows).split("\n")
    rule = ["---" if index == 0 or name in words else "---:" for index, name in enumerate(header)]
    return "\n".join([first, f"| {' | '.join(rule)} |", *others])


def rate(measure: Measure) -> str:
    """Return mean, spread over seeds and interval over samples in percent: ``84.12 ± 0.20 [83.51, 84.75]``."""
    return " ".join([percent(measure["mean"]), *_spread(measure), bounds(measure["interval"])])


def short_rate(measure: Measure) -> str:
    """Return a rate without its interval, for tables that would become too wide."""
    return " ".join([percent(measure["mean"]), *_spread(measure)])


def difference(measure: Measure | None) -> str:
    """Return a difference in points: ``+0.52 ± 0.10 [0.31, 0.73]``."""
    if measure is None:
        return NOTHING
    return " ".join([signed_percent(measure["mean"]), *_spread(measure), bounds(measure["interval"])])


def ratio(measure: Measure | None) -> str:
    """Return a ratio with its interval: ``0.312 [0.284, 0.351]``."""
    if measure is None:
        return NOTHING
    return f"{measure['mean']:.3f} {plain_bounds(measure['interval'])}"


def bounds(interval: Sequence[float | None]) -> str:
    """Return the ends of an interval in percent; a missing end is infinite."""
    low, high = ("∞" if bound is None else percent(bound) for bound in interval)
    return f"[{low}, {high}]"


def plain_bounds(interval: Sequence[float | None]) -> str:
    low, high = ("∞" if bound is None else f"{bound:.3f}" for bound in interval)
    return f"[{low}, {high}]"


def times(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}×"


def seeds(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in numbers) or NOTHING


def duration(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"


def _spread(measure: Measure) -> list[str]:
    return [] if measure["spread"] is None else ["±", percent(measure["spread"])]
