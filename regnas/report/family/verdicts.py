"""What the intervals allow to say, in one sentence a method.

Something is called more, less, higher or lower only when its interval does not hold 0. That an interval does hold 0
is no proof that two methods are alike, so the sentence says that they cannot be told apart, and by how much they might
differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regnas.report.kit.formatting import percent, percent_interval, signed_percent


def verdict(method: Mapping[str, Any]) -> str:
    """A baseline against the family, from its entry in the comparison."""
    top1 = _top1(method["models"])
    if method["mean_nfr_difference"] is None:
        return f"{method['title']}: {top1}."
    return f"{method['title']} {_flips(method)}; {top1}."


def summary(comparison: Mapping[str, Any]) -> str:
    """The family itself."""
    family, samples, clusters = comparison["methods"][0], comparison["samples"], comparison["clusters"]
    top1 = ", ".join(f"{percent(model['top1'])} % ({model['name']})" for model in family["models"])
    where = f"{samples:,} samples" + (f" of {clusters:,} originals" if clusters < samples else "")
    sentence = f"On {where} the family reaches a Top-1 of {top1}"
    if family["mean_nfr"] is None:
        return f"{sentence}; with one member there is nothing to flip against."
    flips = f"{percent(family['mean_nfr'])} % {percent_interval(family['mean_nfr_interval'])}"
    return f"{sentence}, with a mean negative flip rate of {flips} over its pairs."


def _flips(method: Mapping[str, Any]) -> str:
    difference, (low, high) = method["mean_nfr_difference"], method["mean_nfr_difference_interval"]
    if low > 0:
        return f"flips {percent(difference)} points more than the family {percent_interval((low, high))}"
    if high < 0:
        return f"flips {percent(-difference)} points less than the family {percent_interval((-high, -low))}"
    return (
        f"cannot be told apart from the family in flips ({signed_percent(difference)} points "
        f"{percent_interval((low, high))})"
    )


def _top1(models: list[Mapping[str, Any]]) -> str:
    higher = [model for model in models if model["top1_difference_interval"][0] > 0]
    lower = [model for model in models if model["top1_difference_interval"][1] < 0]
    if not higher and not lower:
        largest = max(models, key=lambda model: abs(model["top1_difference"]))
        return f"Top-1 cannot be told apart (largest difference: {_difference(largest)})"
    parts = [
        f"{word} for " + ", ".join(_difference(model) for model in found)
        for word, found in (("higher", higher), ("lower", lower))
        if found
    ]
    return f"Top-1 is {' and '.join(parts)}"


def _difference(model: Mapping[str, Any]) -> str:
    points = signed_percent(model["top1_difference"])
    return f"{model['name']} {points} {percent_interval(model['top1_difference_interval'])}"
