"""Draw the error rate and the flips at the end of every epoch, on the training and the report split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from regnas.report.kit.figures import COLORS, GRAY, MARKERS, WIDTH, shown
from regnas.report.kit.formatting import percent
from regnas.report.update.curves import FlipsByEpoch, SplitRates

MEASURES: dict[str, Callable[[SplitRates], Sequence[float]]] = {
    "error rate (%)": lambda rates: rates.error_rate,
    "NFR (%)": lambda rates: rates.nfr,
    "relative NFR (%)": lambda rates: rates.relative_nfr,
}
DASHES: dict[str, Literal["-", "--"]] = {"report split": "-", "training split": "--"}
MOST_TOLD = 4  # in words; the figure and update.json have all


def flips_by_epoch(courses: Sequence[FlipsByEpoch]) -> Figure:
    """Draw one panel per measure, one color per method; the report split is solid, the training split dashed."""
    figure = Figure(figsize=(WIDTH, 3.3 + 0.17 * ((len(courses) + 1) // 3)), layout="constrained")
    handles: list[Line2D] = []
    for axes, (label, measure) in zip(figure.subplots(1, len(MEASURES)), MEASURES.items(), strict=True):
        for index, course in enumerate(courses):
            color = COLORS[(index + index // len(MARKERS)) % len(COLORS)]
            look = {"color": color, "marker": MARKERS[index % len(MARKERS)], "markersize": 3, "linewidth": 1.3}
            for rates, dash in zip((course.report, course.train), DASHES.values(), strict=True):
                values = [100 * value for value in measure(rates)]
                [line] = axes.plot(course.epochs, values, linestyle=dash, label=shown(course.title, 34), **look)
                if rates is course.report and len(handles) < len(courses):
                    handles.append(line)
        axes.set(xlabel="epoch", ylabel=label)
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    handles += [Line2D([], [], color=GRAY, linestyle=dash, label=label) for label, dash in DASHES.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 5), fontsize=8)
    return figure


def flips_by_epoch_in_words(courses: Sequence[FlipsByEpoch]) -> str:
    """Describe the flips of each method after the last epoch, on both splits."""
    ends = [
        f"{course.title} {percent(course.train.nfr[-1])} % of the {course.train.samples:,} training "
        f"samples and {percent(course.report.nfr[-1])} % of the report split"
        for course in courses[:MOST_TOLD]
    ]
    first = courses[0]
    return (
        f"Negative flips from {first.reference} to {first.new} after the last epoch: {'; '.join(ends)}. Flips on "
        "training samples are not a matter of generalization alone: the new model was trained on them."
    )
