"""From the predictions of all methods and seeds to the numbers of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.flips import (
    Predictions,
    bootstrap_means,
    interval,
    negative_flip_rate,
    one_standard_error_choice,
    positive_flip_rate,
    relative_negative_flip_rate,
)

BySeed = Sequence[Sequence[Predictions]]  # for each seed the models of a plan, from the oldest to the newest


@dataclass(frozen=True)
class Outcome:
    """What a method came to."""

    name: str  # of the method
    label: str  # of its row
    title: str
    description: str
    predictions: BySeed
    parameters: int
    training_cost: float  # relative to no treatment


@dataclass(frozen=True)
class SweepPoint:
    """The oldest and the newest model at one value of a swept key (of the untreated ones: at none)."""

    value: float
    report: BySeed
    search: BySeed


def summarise(
    title: str,
    scenario: str,
    models: Sequence[str],
    seeds: Sequence[int],
    plain: BySeed,
    floor: BySeed,
    outcomes: Sequence[Outcome],
    sweeps: Sequence[dict[str, Any]],
    facts: dict[str, str],
) -> dict[str, Any]:
    """All results as one JSON value; ``plain`` are the predictions without treatment."""
    methods = [_method(outcome, models, plain) for outcome in outcomes]
    front = pareto_front([(method["error_rates"][-1]["mean"], _mean_nfr(method)) for method in methods])
    for method, on_front in zip(methods, front, strict=True):
        method["on_front"] = on_front
    return {
        "title": title,
        "scenario": scenario,
        "models": list(models),
        "seeds": list(seeds),
        "samples": len(plain[0][0]),
        "noise_floor": _noise_floor(models[-1], floor),
        "methods": methods,
        "sweeps": list(sweeps),
        "facts": facts,
    }


def summarise_sweep(
    label: str, title: str, key: str, points: Sequence[SweepPoint], untreated: SweepPoint
) -> dict[str, Any]:
    """The curve of a swept key, and the value that the search split speaks for.

    That is ``one_standard_error_choice`` on the search split: the fewest flips among the values whose error rate is
    above that of the untreated model by no more than the standard error of this difference.
    """
    rows: list[dict[str, Any]] = [
        {
            "value": point.value,
            "error_rate": over_seeds([1 - new.accuracy for _, new in point.report]),
            "nfr": over_seeds([negative_flip_rate(old, new) for old, new in point.report]),
            "relative_nfr": over_seeds([relative_negative_flip_rate(old, new) for old, new in point.report]),
            "error_rate_difference": _difference(_errors(point.report) - _errors(untreated.report), point.report),
            "search_error_rate": _mean([1 - new.accuracy for _, new in point.search]),
            "search_nfr": _mean([negative_flip_rate(old, new) for old, new in point.search]),
        }
        for point in points
    ]
    chosen = one_standard_error_choice(
        errors=[_errors(point.search) for point in points],
        flips=[_flips(point.search, 0, -1) for point in points],
        untreated_errors=_errors(untreated.search),
        groups=untreated.search[0][0].groups,
    )
    value = None if chosen is None else points[chosen].value
    return {"method": label, "title": title, "key": key, "points": rows, "chosen": value}


def over_seeds(values: Sequence[float]) -> dict[str, Any]:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"mean": _mean(values), "spread": spread, "values": [float(value) for value in values]}


def pareto_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """For each point whether no other is at least as low in both and lower in one."""
    return [
        not any(other != point and other[0] <= point[0] and other[1] <= point[1] for other in points)
        for point in points
    ]


def _method(outcome: Outcome, models: Sequence[str], plain: BySeed) -> dict[str, Any]:
    by_seed = outcome.predictions
    untreated = all(
        np.array_equal(own.predicted, other.predicted)
        for mine, theirs in zip(by_seed, plain, strict=True)
        for own, other in zip(mine, theirs, strict=True)
    )
    pairs = [(low, high) for high in range(len(models)) for low in range(high)]
    return {
        "name": outcome.name,
        "label": outcome.label,
        "title": outcome.title,
        "description": outcome.description,
        "error_rates": [
            {"model": name, **over_seeds([1 - predictions[index].accuracy for predictions in by_seed])}
            for index, name in enumerate(models)
        ],
        "pairs": [
            {
                "reference": models[low],
                "new": models[high],
                "nfr": over_seeds([negative_flip_rate(seed[low], seed[high]) for seed in by_seed]),
                "relative_nfr": over_seeds([relative_negative_flip_rate(seed[low], seed[high]) for seed in by_seed]),
                "pfr": over_seeds([positive_flip_rate(seed[low], seed[high]) for seed in by_seed]),
                "nfr_difference": None
                if untreated
                else _difference(_flips(by_seed, low, high) - _flips(plain, low, high), plain),
            }
            for low, high in pairs
        ],
        "error_rate_difference": None if untreated else _difference(_errors(by_seed) - _errors(plain), plain),
        "parameters": outcome.parameters,
        "training_cost": outcome.training_cost,
    }


def _noise_floor(model: str, floor: BySeed) -> dict[str, Any]:
    """Both directions count: neither of the two trainings is the old one."""
    rates = [(negative_flip_rate(one, other) + negative_flip_rate(other, one)) / 2 for one, other in floor]
    errors = [1 - (one.accuracy + other.accuracy) / 2 for one, other in floor]
    return {"model": model, "nfr": over_seeds(rates), "error_rate": over_seeds(errors)}


def _mean(values: Sequence[float]) -> float:
    """Rounded, so that means which differ in the rounding of their sums alone are a tie."""
    return round(float(np.mean(values)), 12)


def _mean_nfr(method: dict[str, Any]) -> float:
    return _mean([pair["nfr"]["mean"] for pair in method["pairs"]])


def _flips(by_seed: BySeed, low: int, high: int) -> NDArray[np.float64]:
    """For each sample the share of seeds in which it is a negative flip: [N]."""
    flips = np.stack([seed[low].correct & ~seed[high].correct for seed in by_seed])  # [S, N]
    shares: NDArray[np.float64] = flips.mean(axis=0)
    return shares


def _errors(by_seed: BySeed) -> NDArray[np.float64]:
    errors = np.stack([~seed[-1].correct for seed in by_seed])  # [S, N]
    shares: NDArray[np.float64] = errors.mean(axis=0)
    return shares


def _difference(values: NDArray[np.float64], like: BySeed) -> dict[str, Any]:
    """The mean of a paired difference [N] with its 95 % bootstrap interval over clusters of samples."""
    draws = bootstrap_means(values[:, None], like[0][0].groups)
    return {"mean": float(values.mean()), "interval": list(interval(draws[:, 0]))}
