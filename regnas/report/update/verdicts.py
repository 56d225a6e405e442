"""Conclusions from the results of an update, in sentences.

A difference is significant if its paired 95 % interval excludes 0. The winner has the fewest flips among the methods
that meet these conditions:

- It has significantly fewer flips than no treatment, and its error rate is not significantly higher. Every method is
  compared with no treatment, which is the update that a team ships if it does nothing about flips. Without the
  condition on the error rate, keeping the old model would win, because it has no flips at all.
- A method that starts from the old weights also has significantly fewer flips than plain fine-tuning, its counterpart.
  Otherwise it would be credited with the effect of fine-tuning alone. Fine-tuning itself only has to beat no treatment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from regnas.report.kit.formatting import percent, percent_interval, signed_percent
from regnas.report.update.measures import Difference, Measure
from regnas.report.update.methods import MethodResult
from regnas.report.update.results import UpdateResult
from regnas.report.update.texts import coverage, times, with_bounds, with_spread


def update_verdict(results: UpdateResult) -> list[str]:
    """Return the headline, followed by the details."""
    base = results.untreated
    methods = [method for method in results.methods if method is not base]
    names = {method.label: title for method, title in zip(results.methods, results.titles, strict=True)}
    if base is None or not methods:
        return [_without_comparison(results, names), _intervals(results)]
    winner = _fewest([method for method in methods if improves(method)])
    headline = _lead(winner, names) if winner else _nothing_better(methods, names)
    fewest = _fewest([method for method in methods if flips_less(_to_none(method)) and errs_more(method)])
    sentences = [headline]
    if winner:
        sentences.append(_field(methods, winner, base, names))
    if fewest and (winner is None or _flips(fewest) < _flips(winner)):
        sentences.append(
            f"{names[fewest.label]} has {'even ' if winner else ''}fewer flips (NFR {with_spread(fewest.mean_nfr)} %), "
            f"but a significantly higher error rate ({with_bounds(fewest.error_rate_difference_to_none)} points)."
        )
    sentences.append(_floor(results, base, winner, names))
    if winner and len(results.seeds) > 1:
        sentences.append(_seeds(base, winner, names))
    return [*sentences, _intervals(results)]


def improves(method: MethodResult) -> bool:
    """Whether a method has fewer flips than no treatment and its counterpart, at no higher error rate."""
    return flips_less(_to_none(method)) and flips_less(_to_counterpart(method)) and not errs_more(method)


def flips_less(differences: Sequence[Difference]) -> bool:
    """Whether flips are significantly fewer in some pair, significantly more in no pair, and fewer on average."""
    resolved = any(each.interval[1] < 0 for each in differences)
    opposed = any(each.interval[0] > 0 for each in differences)
    return resolved and not opposed and fmean(each.mean for each in differences) < 0


def errs_more(method: MethodResult) -> bool:
    """Whether the newest model has a significantly higher error rate than without treatment."""
    difference = method.error_rate_difference_to_none
    return difference is not None and difference.interval[0] > 0


def _to_none(method: MethodResult) -> list[Difference]:
    found = (pair.nfr_difference_to_none for pair in method.pairs)
    return [difference for difference in found if difference is not None]


def _to_counterpart(method: MethodResult) -> list[Difference]:
    found = (pair.nfr_difference for pair in method.pairs)
    return [difference for difference in found if difference is not None]


def _flips(method: MethodResult) -> float:
    return method.mean_nfr.mean


def _fewest(methods: list[MethodResult]) -> MethodResult | None:
    return min(methods, key=_flips, default=None)


def _lead(winner: MethodResult, names: Mapping[str, str]) -> str:
    gain = _gain(_to_none(winner), "no treatment")
    if winner.starts_from_old:
        gain += f" and {_gain(_to_counterpart(winner), 'fine-tuning')}"
    nfr, error = with_spread(winner.mean_nfr), with_spread(winner.error_rate)
    what = "NFR" if len(winner.pairs) == 1 else "mean NFR"
    return (
        f"{names[winner.label]} has the fewest negative flips of all methods whose error rate is not significantly "
        f"higher than that of no treatment. Its {what} is {nfr} %, {gain}. Its error rate is {error} % "
        f"({with_bounds(winner.error_rate_difference_to_none)} points)."
    )


def _nothing_better(methods: list[MethodResult], names: Mapping[str, str]) -> str:
    closest = _fewest([method for method in methods if not errs_more(method)])
    than = _counterparts(methods, "its counterpart")
    fewer = f"significantly fewer negative flips than {than}"
    sentence = f"No method has {fewer} without a significantly higher error rate."
    if closest is None:
        return f"{sentence} All methods have significantly higher error rates."
    beaten = flips_less(_to_none(closest))  # it beats no treatment, but not its counterpart
    differences = _to_counterpart(closest) if beaten else _to_none(closest)
    if len(differences) == 1:
        gap = f"{with_bounds(differences[0])} points"
    elif differences:
        gap = f"{signed_percent(fmean(each.mean for each in differences))} points, {_significant(differences)}"
    else:
        gap = "the same predictions"
    gap += " compared with fine-tuning" if beaten else ""
    return f"{sentence} The closest is {names[closest.label]}: {gap}."


def _gain(differences: Sequence[Difference], than: str) -> str:
    if len(differences) == 1:
        low, high = differences[0].interval
        return f"{percent(-differences[0].mean)} {percent_interval((-high, -low))} points lower than {than}"
    mean = fmean(each.mean for each in differences)
    return f"{percent(-mean)} points lower than {than} ({_significant(differences)})"


def _significant(differences: Sequence[Difference]) -> str:
    lower = sum(each.interval[1] < 0 for each in differences)
    return f"significantly lower in {lower} of {len(differences)} pairs"


def _counterparts(methods: Sequence[MethodResult], name: str) -> str:
    return name if any(method.starts_from_old for method in methods) else "no treatment"


def _field(methods: list[MethodResult], winner: MethodResult, base: MethodResult, names: Mapping[str, str]) -> str:
    better = sum(map(improves, methods))
    than = _counterparts(methods, "their counterparts")
    fewer = f"{'has' if better == 1 else 'have'} significantly fewer flips than {than}"
    cost = f"The training of {names[winner.label]} costs {times(winner.training_cost)} that of no treatment"
    if winner.parameters != base.parameters:
        cost += f", and the model has {times(winner.parameters / base.parameters)} the parameters at inference"
    return f"{better} of {len(methods)} methods {fewer} without a significantly higher error rate. {cost}."


def _floor(results: UpdateResult, base: MethodResult, winner: MethodResult | None, names: Mapping[str, str]) -> str:
    floor = results.noise_floor.nfr
    places = [f"No treatment ({with_spread(base.mean_nfr)} %) is {_place(base.mean_nfr, floor)}"]
    if winner:
        nfr = winner.mean_nfr
        places.append(f"{names[winner.label]} ({with_spread(nfr)} %) is {_place(nfr, floor)}")
    trainings = "the NFR between two trainings of the same recipe"
    return f"The noise floor, {trainings}, is {with_spread(floor)} %. {', and '.join(places)}."


def _place(nfr: Measure, floor: Measure) -> str:
    distance, spreads = nfr.mean - floor.mean, (nfr.spread or 0) + (floor.spread or 0)
    if abs(distance) <= spreads:
        return "within its spread"
    return f"{percent(abs(distance))} points {'above' if distance > 0 else 'below'} it"


def _seeds(base: MethodResult, winner: MethodResult, names: Mapping[str, str]) -> str:
    pairs = list(zip(winner.mean_nfr.values, base.mean_nfr.values, strict=True))
    fewer = sum(treated < without for treated, without in pairs)
    return f"{names[winner.label]} has fewer flips than no treatment in {fewer} of {len(pairs)} seeds."


def _intervals(results: UpdateResult) -> str:
    """Say what the intervals cover."""
    if len(results.seeds) == 1:
        return (
            f"All numbers come from one seed. The intervals are {coverage(results)}; they do not show how much another "
            "training would change the numbers."
        )
    return f"The intervals are {coverage(results)} ({len(results.seeds)} seeds)."


def _without_comparison(results: UpdateResult, names: Mapping[str, str]) -> str:
    best = min(results.methods, key=_flips)
    numbers = f"an NFR of {with_spread(best.mean_nfr)} % at an error rate of {with_spread(best.error_rate)} %"
    if len(results.methods) == 1:
        return f"{names[best.label]} has {numbers}. There is no other method to compare it with."
    return (
        f"{names[best.label]} has the fewest negative flips: {numbers}. The update does not include no treatment, so "
        "there is no baseline."
    )
