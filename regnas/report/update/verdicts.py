"""What the results of an update allow to say, in sentences.

Less, more and higher are said only if the paired interval of a difference does not hold 0. The winner has the fewest
flips among the methods that meet these conditions:

- It flips less than no treatment, and its error rate is not higher: no treatment is what a team ships that does
  nothing, whatever a method starts from. Without the condition on errors, flips could always be bought with errors,
  down to none at all by keeping the old model.
- A method that starts from the old weights also flips less than plain fine-tuning, its counterpart. Otherwise it would
  win by what fine-tuning alone does. Fine-tuning itself has only no treatment to beat.
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
    """The headline first, then what goes with it."""
    base = results.untreated
    methods = [method for method in results.methods if method is not base]
    names = {method.label: title for method, title in zip(results.methods, results.titles, strict=True)}
    if base is None or not methods:
        return [_without_comparison(results, names), _seeds(results, None, None)]
    winner = _fewest([method for method in methods if improves(method)])
    headline = _lead(winner, names) if winner else _nothing_better(methods, names)
    fewest = _fewest([method for method in methods if flips_less(_to_none(method)) and errs_more(method)])
    sentences = [headline]
    if winner:
        sentences.append(_field(methods, winner, base, names))
    if fewest and (winner is None or _flips(fewest) < _flips(winner)):
        sentences.append(
            f"Fewer flips at a price: {names[fewest.label]} has an NFR of {with_spread(fewest.mean_nfr)} %, but its "
            f"error rate is higher ({with_bounds(fewest.error_rate_difference_to_none)} points)."
        )
    return [*sentences, _floor(results, base, winner, names), _seeds(results, base, winner)]


def improves(method: MethodResult) -> bool:
    """Whether it flips less than no treatment and than its counterpart, at an error rate not above no treatment's."""
    return flips_less(_to_none(method)) and flips_less(_to_counterpart(method)) and not errs_more(method)


def flips_less(differences: Sequence[Difference]) -> bool:
    """Fewer flips, beyond the interval in some pair and in no pair the other way."""
    resolved = any(each.interval[1] < 0 for each in differences)
    opposed = any(each.interval[0] > 0 for each in differences)
    return resolved and not opposed and fmean(each.mean for each in differences) < 0


def errs_more(method: MethodResult) -> bool:
    """A higher error rate of the last model than without treatment, beyond the interval."""
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
    return (
        f"{names[winner.label]} has the fewest negative flips among the methods whose error rate is not above that of "
        f"no treatment beyond the interval: NFR {nfr} %, {gain}, at an error rate of {error} % "
        f"({with_bounds(winner.error_rate_difference_to_none)} points)."
    )


def _nothing_better(methods: list[MethodResult], names: Mapping[str, str]) -> str:
    closest = _fewest([method for method in methods if not errs_more(method)])
    than = "its counterpart" if any(method.starts_from_old for method in methods) else "no treatment"
    sentence = f"No method has fewer negative flips than {than} beyond the interval without a higher error rate"
    if closest is None:
        return f"{sentence}: all of them err more."
    beaten = flips_less(_to_none(closest))  # it beats no treatment, so that its counterpart is what it does not beat
    differences = _to_counterpart(closest) if beaten else _to_none(closest)
    if len(differences) == 1:
        gap = f"{with_bounds(differences[0])} points"
    elif differences:
        gap = f"{signed_percent(fmean(each.mean for each in differences))} points, {_pairs_resolved(differences)}"
    else:
        gap = "the same answers"
    gap += " to fine-tuning" if beaten else ""
    return f"{sentence}; the closest is {names[closest.label]} ({gap})."


def _gain(differences: Sequence[Difference], than: str) -> str:
    if len(differences) == 1:
        low, high = differences[0].interval
        return f"{percent(-differences[0].mean)} {percent_interval((-high, -low))} points less than {than}"
    mean = fmean(each.mean for each in differences)
    return f"{percent(-mean)} points less than {than}, {_pairs_resolved(differences)}"


def _pairs_resolved(differences: Sequence[Difference]) -> str:
    resolved = sum(each.interval[1] < 0 for each in differences)
    return f"beyond the interval in {resolved} of {len(differences)} pairs"


def _field(methods: list[MethodResult], winner: MethodResult, base: MethodResult, names: Mapping[str, str]) -> str:
    better = sum(map(improves, methods))
    than = " than their counterparts" if any(method.starts_from_old for method in methods) else ""
    cost = f"{names[winner.label]} costs {times(winner.training_cost)} the training of no treatment"
    if winner.parameters != base.parameters:
        cost += f" and has {times(winner.parameters / base.parameters)} the parameters at inference"
    return f"{better} of {len(methods)} methods flip less{than} at an error rate that is not higher. {cost}."


def _floor(results: UpdateResult, base: MethodResult, winner: MethodResult | None, names: Mapping[str, str]) -> str:
    floor = results.noise_floor.nfr
    places = [f"no treatment ({with_spread(base.mean_nfr)} %) is {_place(base.mean_nfr, floor)}"]
    if winner:
        nfr = winner.mean_nfr
        places.append(f"{names[winner.label]} ({with_spread(nfr)} %) is {_place(nfr, floor)}")
    return f"Two trainings of the same recipe flip {with_spread(floor)} %: {' and '.join(places)}."


def _place(nfr: Measure, floor: Measure) -> str:
    distance, spreads = nfr.mean - floor.mean, (nfr.spread or 0) + (floor.spread or 0)
    if abs(distance) <= spreads:
        return "within this noise floor"
    return f"{percent(abs(distance))} points {'above' if distance > 0 else 'below'} this noise floor"


def _seeds(results: UpdateResult, base: MethodResult | None, winner: MethodResult | None) -> str:
    """What the intervals cover, and in how many seeds it holds."""
    seeds = len(results.seeds)
    if seeds == 1:
        return (
            f"From one seed; the intervals are {coverage(results)}: how much another training would change these "
            "numbers is not measured."
        )
    if base is None or winner is None:
        return f"From {seeds} seeds; the intervals are {coverage(results)}."
    pairs = zip(winner.mean_nfr.values, base.mean_nfr.values, strict=True)
    agreeing = sum(treated < without for treated, without in pairs)
    return f"In {agreeing} of {seeds} seeds it flips less than no treatment; the intervals are {coverage(results)}."


def _without_comparison(results: UpdateResult, names: Mapping[str, str]) -> str:
    best = min(results.methods, key=_flips)
    numbers = f"NFR {with_spread(best.mean_nfr)} % at an error rate of {with_spread(best.error_rate)} %"
    if len(results.methods) == 1:
        return f"{names[best.label]}: {numbers}; there is nothing to compare it with."
    return f"{names[best.label]} has the fewest negative flips, {numbers}; no treatment is missing to judge it by."
