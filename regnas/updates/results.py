"""Compute the numbers of the report from the predictions of all methods and seeds.

Intervals and p-values are those of ``regnas.flips``. With a single seed, they are the same as ``regnas compare`` gives
for these prediction files. With several seeds, they cover seeds and samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regnas.flips import (
    LEVEL,
    Diagnostics,
    Predictions,
    count_clusters,
    mean_interval,
    mean_nfr,
    mean_nfr_values,
    negative_flip_rate,
    one_standard_error_choice,
    pairs_of,
    positive_flip_rate,
    relative_negative_flip_rate,
)
from regnas.flips.paired import Bounds
from regnas.report.update.curves import SweepResult, SweptValue
from regnas.report.update.measures import Difference, ErrorRate, MeanNfr, Measure
from regnas.report.update.methods import Counterpart, MethodResult, PairResult, SeedPair
from regnas.report.update.results import NoiseFloor, UpdateResult

BySeed = Sequence[Sequence[Predictions]]  # for each seed the models of a plan, from the oldest to the newest
Values = NDArray[np.float64]  # [S, N], one per seed and sample


@dataclass(frozen=True)
class Outcome:
    """The predictions and the costs of a method."""

    name: str  # of the method
    label: str  # of its row
    title: str
    description: str
    predictions: BySeed
    parameters: int
    training_cost: float  # relative to no treatment
    counterpart: Counterpart = "none"  # what its differences refer to
    diagnostics: Diagnostics | None = None  # of the flips from the oldest to the newest model


@dataclass(frozen=True)
class SweepPoint:
    """The oldest and the newest model at one value of a swept key; for untreated models, the value is NaN."""

    value: float
    report: BySeed
    search: BySeed


def summarize(
    title: str,
    scenario: str,
    models: Sequence[str],
    seeds: Sequence[int],
    plain: BySeed,
    floor: BySeed,
    outcomes: Sequence[Outcome],
    sweeps: Sequence[SweepResult],
    facts: Mapping[str, str],
    fine_tuned: BySeed | None = None,
) -> UpdateResult:
    """Compute the numbers of all methods.

    ``plain`` has the predictions without treatment. ``fine_tuned`` has those of plain fine-tuning, the counterpart of
    methods that start from the old weights; it is None if no outcome has this counterpart.
    """
    methods = [_method(outcome, models, seeds, plain, fine_tuned) for outcome in outcomes]
    front = pareto_front([(method.error_rate.mean, method.mean_nfr.mean) for method in methods])
    return UpdateResult(
        title=title,
        scenario=scenario,
        models=tuple(models),
        seeds=tuple(seeds),
        samples=len(plain[0][0]),
        clusters=count_clusters(plain[0][0].groups, len(plain[0][0])),
        interval_level=LEVEL,
        noise_floor=_noise_floor(models[-1], floor),
        methods=tuple(replace(method, on_front=on_front) for method, on_front in zip(methods, front, strict=True)),
        sweeps=tuple(sweeps),
        facts=facts,
        tuning=(),
        diagnostics=None,
        by_epoch=(),
        clipping=(),
    )


def summarize_sweep(
    label: str, title: str, key: str, points: Sequence[SweepPoint], untreated: SweepPoint
) -> SweepResult:
    """Compute the curve of a swept key, and the value that the search split favors.

    The value is that of ``one_standard_error_choice`` on the search split. It has the fewest flips among the values
    whose error rate exceeds that of the untreated model by at most the standard error of this difference.
    """
    chosen = one_standard_error_choice(
        errors=[_errors(point.search).mean(axis=0) for point in points],
        flips=[_flips(point.search, 0, -1).mean(axis=0) for point in points],
        untreated_errors=_errors(untreated.search).mean(axis=0),
        groups=untreated.search[0][0].groups,
    )
    rows = tuple(_swept_value(point, untreated) for point in points)
    return SweepResult(label, title, key, rows, None if chosen is None else points[chosen].value)


def over_seeds(values: Sequence[float]) -> Measure:
    """Return the mean and the spread of a rate over seeds."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Measure(_mean(values), spread, tuple(float(value) for value in values))


def pareto_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Return, for each point, whether no other point is at least as low in both values and lower in one."""
    return [
        not any(other != point and other[0] <= point[0] and other[1] <= point[1] for other in points)
        for point in points
    ]


def _swept_value(point: SweepPoint, untreated: SweepPoint) -> SweptValue:
    return SweptValue(
        value=point.value,
        error_rate=over_seeds([1 - new.accuracy for _, new in point.report]),
        nfr=over_seeds([negative_flip_rate(old, new) for old, new in point.report]),
        relative_nfr=over_seeds([relative_negative_flip_rate(old, new) for old, new in point.report]),
        error_rate_difference=_difference(_errors(point.report) - _errors(untreated.report), point.report),
        search_error_rate=_mean([1 - new.accuracy for _, new in point.search]),
        search_nfr=_mean([negative_flip_rate(old, new) for old, new in point.search]),
    )


def _method(
    outcome: Outcome, models: Sequence[str], seeds: Sequence[int], plain: BySeed, fine_tuned: BySeed | None
) -> MethodResult:
    """Compute the numbers of one method; ``on_front`` depends on the other methods and is set later."""
    by_seed = outcome.predictions
    counterpart = plain if fine_tuned is None or outcome.counterpart == "none" else fine_tuned
    statistics = [pairs_of(predictions) for predictions in by_seed]  # Holm's correction is over the pairs of a seed
    pairs = [(low, high) for high in range(len(models)) for low in range(high)]
    mean = over_seeds([mean_nfr(seed) for seed in by_seed])
    return MethodResult(
        name=outcome.name,
        label=outcome.label,
        title=outcome.title,
        description=outcome.description,
        counterpart=outcome.counterpart,
        error_rates=tuple(
            ErrorRate.of(name, over_seeds([1 - predictions[index].accuracy for predictions in by_seed]))
            for index, name in enumerate(models)
        ),
        pairs=tuple(
            PairResult(
                reference=models[low],
                new=models[high],
                nfr=over_seeds([negative_flip_rate(seed[low], seed[high]) for seed in by_seed]),
                nfr_interval=_interval(_flips(by_seed, low, high), by_seed, "rate"),
                relative_nfr=over_seeds([relative_negative_flip_rate(seed[low], seed[high]) for seed in by_seed]),
                pfr=over_seeds([positive_flip_rate(seed[low], seed[high]) for seed in by_seed]),
                nfr_difference=_compare(by_seed, counterpart, partial(_flips, low=low, high=high)),
                nfr_difference_to_none=_compare(by_seed, plain, partial(_flips, low=low, high=high)),
                by_seed=tuple(
                    SeedPair.of(seed, found[low, high]) for seed, found in zip(seeds, statistics, strict=True)
                ),
            )
            for low, high in pairs
        ),
        mean_nfr=MeanNfr.of(mean, _interval(_mean_flips(by_seed), by_seed, "rate")),
        mean_nfr_difference=_compare(by_seed, counterpart, _mean_flips),
        mean_nfr_difference_to_none=_compare(by_seed, plain, _mean_flips),
        error_rate_difference=_compare(by_seed, counterpart, _errors),
        error_rate_difference_to_none=_compare(by_seed, plain, _errors),
        parameters=outcome.parameters,
        training_cost=outcome.training_cost,
        on_front=False,
    )


def _compare(mine: BySeed, others: BySeed, values: Callable[[BySeed], Values]) -> Difference | None:
    """Return the paired difference of ``values`` between the two; None if all predictions are the same."""
    alike = all(
        np.array_equal(own.predicted, other.predicted)
        for own_models, other_models in zip(mine, others, strict=True)
        for own, other in zip(own_models, other_models, strict=True)
    )
    return None if alike else _difference(values(mine) - values(others), mine)


def _noise_floor(model: str, floor: BySeed) -> NoiseFloor:
    """Compute the noise floor, the mean of both directions, because neither of the two trainings is the old one."""
    rates = [(negative_flip_rate(one, other) + negative_flip_rate(other, one)) / 2 for one, other in floor]
    errors = [1 - (one.accuracy + other.accuracy) / 2 for one, other in floor]
    return NoiseFloor(model, over_seeds(rates), over_seeds(errors))


def _mean(values: Sequence[float]) -> float:
    """Return the mean, rounded: means that differ only by the rounding of their sums are a tie."""
    return round(float(np.mean(values)), 12)


def _flips(by_seed: BySeed, low: int, high: int) -> Values:
    """Return 1 for each seed and sample that is a negative flip, else 0: [S, N]."""
    return np.stack([seed[low].correct & ~seed[high].correct for seed in by_seed]).astype(np.float64)


def _mean_flips(by_seed: BySeed) -> Values:
    """Return the share of the pairs of an earlier and a later model in which each sample flips: [S, N]."""
    return np.stack([mean_nfr_values(seed) for seed in by_seed])


def _errors(by_seed: BySeed) -> Values:
    """Return 1 for each seed and sample that the newest model gets wrong, else 0: [S, N]."""
    return np.stack([~seed[-1].correct for seed in by_seed]).astype(np.float64)


def _difference(values: Values, like: BySeed) -> Difference:
    """Return the mean of a paired difference [S, N] with its interval over samples and, if several, seeds."""
    return Difference(float(values.mean(axis=0).mean()), _interval(values, like, "difference"))


def _interval(values: Values, like: BySeed, kind: Literal["rate", "difference"]) -> Bounds:
    return mean_interval(values, like[0][0].groups, kind)
