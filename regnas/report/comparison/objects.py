"""Comparisons and verdicts as JSON objects for other programs. Rates are fractions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from regnas.comparison.breakdowns import MOST_PARTS, Breakdown, break_down
from regnas.comparison.comparison import Comparison, Pair
from regnas.comparison.gating import Check, Verdict
from regnas.flips.closed_forms import LEVEL
from regnas.runtime.printable import json_escapes

NOT_VALUES = ("correct", "shared")
# The classes of all pairs together. Up to ten models list up to MOST_PARTS classes per pair, a hundred models ten.
MOST_PARTS_OF_ALL = 100_000


def json_text(value: Mapping[str, Any]) -> str:
    """Return an object as one line of JSON."""
    return json_escapes(json.dumps(value, ensure_ascii=False, allow_nan=False))


def comparison_object(comparison: Comparison, ids: bool = False) -> dict[str, Any]:
    """Return the JSON object of a comparison; with ``ids``, also the ids of the flipped samples."""
    table = comparison.table
    most = min(MOST_PARTS, max(1, MOST_PARTS_OF_ALL // max(1, len(comparison.pairs))))
    return {
        "models": [
            {"name": name, "samples": table.samples, "error_rate": error}
            for name, error in zip(table.models, comparison.error_rates, strict=True)
        ],
        "pairs": [_pair(pair, most, ids) for pair in comparison.pairs],
        "samples": table.samples,
        "clusters": comparison.clusters,
        "interval_level": LEVEL,
        "columns_left_out": dict(comparison.left_out),
    }


def verdict_object(verdict: Verdict) -> dict[str, Any]:
    """Return the JSON object of a verdict."""
    return {
        "verdict": verdict.status,
        "reference": verdict.reference,
        "new": verdict.new,
        "samples": verdict.samples,
        "clusters": verdict.clusters,
        "limits": [_check(check) for check in verdict.checks],
    }


def _pair(pair: Pair, most: int, ids: bool) -> dict[str, Any]:
    flips, shared = pair.flips, pair.shared
    classes = break_down(shared.classes, flips, most)
    slices = {name: break_down(each, flips, most) for name, each in shared.slices.items()}
    values = {name: value for name, value in vars(pair).items() if name not in NOT_VALUES}
    values |= {
        "classes": _parts(classes, "class"),
        "classes_left_out": classes.left_out,
        "slices": {name: _parts(each, "value") for name, each in slices.items()},
    }
    if ids:
        values["negative_flip_ids"] = pair.negative_flip_ids.tolist()
        values["positive_flip_ids"] = pair.positive_flip_ids.tolist()
    return values


def _parts(breakdown: Breakdown, called: str) -> list[dict[str, Any]]:
    return [{called: part.value} | _without_value(vars(part)) for part in breakdown.parts]


def _check(check: Check) -> dict[str, Any]:
    values = {
        "limit": check.limit,
        "bound": check.bound,
        "verdict": check.status,
        "estimate": check.finding.estimate,
        "interval": check.finding.interval,
        "interval_level": check.interval_level,
        "further_samples": check.further_samples,
    }
    if check.classes:
        listed = check.classes[:MOST_PARTS]
        values["classes"] = [_class_finding(asdict(each)) for each in listed]
        values["classes_left_out"] = max(0, len(check.classes) - MOST_PARTS)
    return values


def _class_finding(values: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {"value": "class", "status": "verdict"}
    order = ("value", "estimate", "interval", "status", "further_samples", "samples", "negative_flips")
    return {renamed.get(name, name): values[name] for name in order}


def _without_value(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != "value"}
