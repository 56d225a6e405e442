"""An update as a data frame of pandas, polars or pyarrow."""

from __future__ import annotations

from typing import Any

from regnas.errors import ConfigurationError
from regnas.report.kit.frames import frame_of
from regnas.report.update.measures import Difference, Measure
from regnas.report.update.methods import MethodResult, PairResult
from regnas.report.update.results import UpdateResult


def to_frame(results: UpdateResult, by: str | None, library: str) -> Any:
    """Return one row per method, or per method and pair of models."""
    if by not in (None, "pair"):
        raise ConfigurationError(f'by must be None or "pair", got {by!r}')
    if by is None:
        rows = [_method_values(method) for method in results.methods]
    else:
        rows = [_pair_values(method, pair) for method in results.methods for pair in method.pairs]
    return frame_of(rows, library)


def _method_values(method: MethodResult) -> dict[str, Any]:
    return {
        "method": method.label,
        "title": method.title,
        "counterpart": method.counterpart,
        **_measure("error_rate", method.error_rate),
        **_measure("mean_nfr", method.mean_nfr),
        "mean_nfr_low": method.mean_nfr.interval[0],
        "mean_nfr_high": method.mean_nfr.interval[1],
        **_difference("error_rate_difference", method.error_rate_difference),
        **_difference("mean_nfr_difference", method.mean_nfr_difference),
        "parameters": method.parameters,
        "training_cost": method.training_cost,
        "on_front": method.on_front,
    }


def _pair_values(method: MethodResult, pair: PairResult) -> dict[str, Any]:
    return {
        "method": method.label,
        "reference": pair.reference,
        "new": pair.new,
        **_measure("nfr", pair.nfr),
        "nfr_low": pair.nfr_interval[0],
        "nfr_high": pair.nfr_interval[1],
        **_measure("relative_nfr", pair.relative_nfr),
        **_measure("pfr", pair.pfr),
        **_difference("nfr_difference", pair.nfr_difference),
    }


def _measure(name: str, measure: Measure) -> dict[str, float | None]:
    return {name: measure.mean, f"{name}_spread": measure.spread}


def _difference(name: str, difference: Difference | None) -> dict[str, float | None]:
    """Return the mean and the ends of the interval; all None for the counterpart itself."""
    low, high = (None, None) if difference is None else difference.interval
    return {name: None if difference is None else difference.mean, f"{name}_low": low, f"{name}_high": high}
