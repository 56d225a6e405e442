"""Comparisons and verdicts as JSON objects, which other programs read: rates are fractions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from regnas.comparison.comparison import MOST_PARTS, Breakdown, Comparison, Pair
from regnas.comparison.gating import Check, GateResult
from regnas.flips.closed_forms import LEVEL


def comparison_object(comparison: Comparison) -> dict[str, Any]:
    table = comparison.table
    return {
        "models": [
            {"name": name, "samples": table.samples, "error_rate": error}
            for name, error in zip(table.models, comparison.error_rates, strict=True)
        ],
        "pairs": [_pair(pair) for pair in comparison.pairs],
        "samples": table.samples,
        "clusters": comparison.clusters,
        "interval_level": LEVEL,
        "columns_left_out": dict(comparison.left_out),
    }


def gate_object(result: GateResult) -> dict[str, Any]:
    return {
        "verdict": str(result.verdict),
        "reference": result.reference,
        "new": result.new,
        "samples": result.samples,
        "clusters": result.clusters,
        "limits": [_check(check) for check in result.checks],
    }


def _pair(pair: Pair) -> dict[str, Any]:
    values = {name: value for name, value in vars(pair).items() if name not in ("classes", "slices")}
    return values | {
        "classes": _parts(pair.classes, "class"),
        "classes_left_out": pair.classes.left_out,
        "slices": {name: _parts(each, "value") for name, each in pair.slices.items()},
    }


def _parts(breakdown: Breakdown, called: str) -> list[dict[str, Any]]:
    return [{called: part.value} | _without_value(vars(part)) for part in breakdown.parts]


def _check(check: Check) -> dict[str, Any]:
    values = {
        "limit": check.limit,
        "bound": check.bound,
        "verdict": str(check.verdict),
        "estimate": check.finding.estimate,
        "interval": check.finding.interval,
        "interval_level": check.interval_level,
        "further_samples": check.further_samples,
    }
    if check.classes:
        listed = check.classes[:MOST_PARTS]
        values["classes"] = [{"class": each.value} | _without_value(asdict(each)) for each in listed]
        values["classes_left_out"] = max(0, len(check.classes) - MOST_PARTS)
    return values


def _without_value(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != "value"}
