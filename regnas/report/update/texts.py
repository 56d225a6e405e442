"""Words and numbers of an update for its tables, plots and pages."""

from __future__ import annotations

from regnas.report.kit.formatting import percent, percent_interval, signed_percent
from regnas.report.update.measures import Difference, Measure
from regnas.report.update.results import UpdateResult

MARK = "†"  # of methods whose counterpart is plain fine-tuning


def counterpart(results: UpdateResult) -> str:
    """Return what the column of differences refers to."""
    return "counterpart" if any(method.starts_from_old for method in results.methods) else "no treatment"


def mark_titles(results: UpdateResult) -> list[str]:
    """Return the titles, with a mark for methods that are compared with plain fine-tuning."""
    named = zip(results.titles, results.methods, strict=True)
    return [f"{title} {MARK}" if method.starts_from_old else title for title, method in named]


def coverage(results: UpdateResult) -> str:
    """Return what the intervals cover, in words."""
    samples = "clusters of samples" if results.clusters < results.samples else "samples"
    return f"over seeds and {samples}" if len(results.seeds) > 1 else f"over {samples}"


def with_spread(measure: Measure) -> str:
    """Return the mean and the spread in percent, such as ``1.23 ± 0.04``; the mean alone for one seed."""
    mean, spread = percent(measure.mean), measure.spread
    return mean if spread is None else f"{mean} ± {percent(spread)}"


def with_bounds(difference: Difference | None) -> str:
    """Return a difference in points, such as ``-1.23 [-1.50, -0.98]``; a dash for the counterpart itself."""
    if difference is None:
        return "–"
    return f"{signed_percent(difference.mean)} {percent_interval(difference.interval)}"


def times(ratio: float) -> str:
    """Return a ratio such as ``2.5x``."""
    return f"{ratio:.1f}x"


def swept(value: float) -> str:
    """Return the value of a swept key."""
    return f"{value:g}"


def noise_floor(results: UpdateResult) -> str:
    """Describe the noise floor."""
    floor = results.noise_floor
    return (
        f"Noise floor: the NFR between two trainings of the same recipe ({floor.model}) is "
        f"{with_spread(floor.nfr)} %. These flips are due to chance alone."
    )


def legend(results: UpdateResult) -> list[tuple[str, str]]:
    """Return the columns of the main table, each with its name and explanation."""
    seeds = len(results.seeds)
    spread = f"mean ± standard deviation over {seeds} seeds" if seeds > 1 else "of one seed"
    first, last = results.models[0], results.models[-1]
    words = [
        ("★", "on the Pareto front: no other method has both a lower error rate and a lower NFR"),
        ("ER", f"error rate on the report split ({results.samples:,} samples), {spread}"),
    ]
    difference = f"difference in points, with its paired 95 % interval {coverage(results)}"
    flips = "negative flip rate: the share of samples that {} predicts correctly and {} does not"
    if results.is_chain:
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
            ("parameters", "parameters of the new model at inference"),
        ]
    if any(method.starts_from_old for method in results.methods):
        compared = "starts from the old weights and is compared with fine-tuning"
        words.append((MARK, f"{compared}; all other methods are compared with no treatment"))
    cost = "multiply-adds to train the new model, including teachers and ensembles, relative to no treatment"
    return [*words, ("cost", cost)]
