"""What the tables, the plots and the verdict of an update read from its results, and how they write it.

The results are one JSON value: rates are fractions, a measure is ``{"mean", "spread", "values"}`` over the seeds (the
spread None for one seed), a difference is ``{"mean", "interval"}`` of a method minus its counterpart: no treatment, or
plain fine-tuning for a method that starts from the old weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from regnas.report.kit.formatting import percent, percent_interval, signed_percent

Results = Mapping[str, Any]
Measure = Mapping[str, Any]

UNTREATED = "none"  # the name of the method that costs refer to, and differences unless the counterpart is another one
FINE_TUNING = "fine_tuning"
MARK = "†"  # of methods whose counterpart is plain fine-tuning


def is_chain(results: Results) -> bool:
    return len(results["models"]) > 2


def untreated(results: Results) -> Mapping[str, Any] | None:
    return next((method for method in results["methods"] if method["name"] == UNTREATED), None)


def starts_from_old(method: Mapping[str, Any]) -> bool:
    """Whether the differences of the method refer to plain fine-tuning."""
    return bool(method["counterpart"] == FINE_TUNING)


def counterpart(results: Results) -> str:
    """What the column of differences is relative to."""
    return "counterpart" if any(map(starts_from_old, results["methods"])) else "no treatment"


def titles(results: Results) -> list[str]:
    """The title of each method; if two methods share one, its label tells them apart."""
    count = Counter(method["title"] for method in results["methods"])
    return [
        method["title"] if count[method["title"]] == 1 else f"{method['title']} ({method['label']})"
        for method in results["methods"]
    ]


def marked_titles(results: Results) -> list[str]:
    """The titles, with a mark for methods that are compared with plain fine-tuning."""
    named = zip(titles(results), results["methods"], strict=True)
    return [f"{title} {MARK}" if starts_from_old(method) else title for title, method in named]


def coverage(results: Results) -> str:
    """What the intervals are over."""
    clusters = " (clusters)" if results["clusters"] < results["samples"] else ""
    seeds = "seeds and " if len(results["seeds"]) > 1 else ""
    return f"over {seeds}samples{clusters}"


def mean_nfr(method: Mapping[str, Any]) -> Measure:
    """NFR as a measure; for a chain the mean over its pairs, seed by seed."""
    measure: Measure = method["mean_nfr"]
    return measure


def last_error_rate(method: Mapping[str, Any]) -> Measure:
    """The error rate of the model that is shipped in the end."""
    last: Measure = method["error_rates"][-1]
    return last


def with_spread(measure: Measure) -> str:
    """``1.23 ± 0.04`` in percent; the mean alone when there is one seed."""
    spread = measure["spread"]
    return percent(measure["mean"]) if spread is None else f"{percent(measure['mean'])} ± {percent(spread)}"


def with_bounds(difference: Mapping[str, Any] | None) -> str:
    """``-1.23 [-1.50, -0.98]`` in points, a dash for the counterpart itself."""
    if difference is None:
        return "–"
    return f"{signed_percent(difference['mean'])} {percent_interval(difference['interval'])}"


def times(ratio: float) -> str:
    """``2.5x``"""
    return f"{ratio:.1f}x"


def swept(value: float) -> str:
    return f"{value:g}"


def noise_floor(results: Results) -> str:
    """How much two trainings differ that should not: what chance alone flips."""
    floor = results["noise_floor"]
    return (
        f"Noise floor: between two trainings of the same recipe ({floor['model']}) the NFR is "
        f"{with_spread(floor['nfr'])} %. That much flips by chance alone."
    )


def legend(results: Results) -> list[tuple[str, str]]:
    """What the columns of the main table mean: name and explanation."""
    seeds: Sequence[int] = results["seeds"]
    spread = f"mean ± standard deviation over {len(seeds)} seeds" if len(seeds) > 1 else "of one seed"
    first, last = results["models"][0], results["models"][-1]
    words = [
        ("★", "on the Pareto front: no other method has both a lower error rate and a lower NFR"),
        ("ER", f"error rate on the report split ({results['samples']:,} samples), {spread}"),
    ]
    difference = f"difference in points, with its paired 95 % interval {coverage(results)}"
    flips = "negative flip rate: the share of samples that {} predicts correctly and {} does not"
    if is_chain(results):
        words += [
            ("NFR", flips.format("the reference", "the new model")),
            ("mean NFR", "the mean over all pairs of an earlier model (reference) and a later one (new)"),
            (f"mean NFR - {counterpart(results)}", difference),
        ]
    else:
        independent = "100 % if their errors are independent"
        words += [
            ("NFR", flips.format(first, last)),
            ("relative NFR", f"NFR / ((1 - ER of the old model) * ER of the new one): {independent}"),
            (f"NFR - {counterpart(results)}", difference),
            ("parameters", "that the new model has at inference"),
        ]
    if any(map(starts_from_old, results["methods"])):
        compared = "starts from the old weights and is compared with fine-tuning; all other methods with no treatment"
        words.append((MARK, compared))
    cost = "multiply-adds to train the new model, including teachers and ensembles, relative to no treatment"
    return [*words, ("cost", cost)]
