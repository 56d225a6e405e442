"""Conclusions from the intervals, in one sentence per method.

A sentence says that a method has more or fewer flips, or a higher or lower accuracy, only if the interval of the
difference does not contain 0. An interval that contains 0 does not prove that two methods are equal. The sentence then
says that they cannot be told apart, and by how much they may differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from regnas.report.family.results import MemberResult, MethodResult
from regnas.report.kit.formatting import percent, percent_interval, signed_percent


def verdict(method: MethodResult) -> str:
    """Compare a baseline with the family, in one sentence."""
    top1 = _top1(method.models)
    if method.mean_nfr_difference is None:
        return f"{method.title}: {top1}."
    return f"{method.title} {_flips(method)}; {top1}."


def summary(family: MethodResult, samples: int, clusters: int) -> str:
    """Describe the family itself in one sentence."""
    top1 = ", ".join(f"{percent(model.top1)} % ({model.name})" for model in family.models)
    where = f"{samples:,} samples" + (f" of {clusters:,} originals" if clusters < samples else "")
    sentence = f"On {where} the family reaches a Top-1 of {top1}"
    if family.mean_nfr is None or family.mean_nfr_interval is None:
        return f"{sentence}; with one member there is nothing to flip against."
    flips = f"{percent(family.mean_nfr)} % {percent_interval(family.mean_nfr_interval)}"
    return f"{sentence}, with a mean negative flip rate of {flips} over its pairs."


def _flips(method: MethodResult) -> str:
    assert method.mean_nfr_difference is not None and method.mean_nfr_difference_interval is not None
    difference, (low, high) = method.mean_nfr_difference, method.mean_nfr_difference_interval
    if low > 0:
        return f"flips {percent(difference)} points more than the family {percent_interval((low, high))}"
    if high < 0:
        return f"flips {percent(-difference)} points less than the family {percent_interval((-high, -low))}"
    return (
        f"cannot be told apart from the family in flips ({signed_percent(difference)} points "
        f"{percent_interval((low, high))})"
    )


def _top1(models: Sequence[MemberResult]) -> str:
    compared = [
        (model, model.top1_difference, model.top1_difference_interval)
        for model in models
        if model.top1_difference is not None and model.top1_difference_interval is not None
    ]
    higher = [model for model, _, bounds in compared if bounds[0] > 0]
    lower = [model for model, _, bounds in compared if bounds[1] < 0]
    if not higher and not lower:
        largest, _, _ = max(compared, key=lambda each: abs(each[1]))
        return f"Top-1 cannot be told apart (largest difference: {_difference(largest)})"
    parts = [
        f"{word} for " + ", ".join(_difference(model) for model in found)
        for word, found in (("higher", higher), ("lower", lower))
        if found
    ]
    return f"Top-1 is {' and '.join(parts)}"


def _difference(model: MemberResult) -> str:
    assert model.top1_difference is not None and model.top1_difference_interval is not None
    return f"{model.name} {signed_percent(model.top1_difference)} {percent_interval(model.top1_difference_interval)}"
