"""Error rate and flips at the end of every epoch, on the training and the report split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from regnas.report.kit.figures import COLORS, MARKERS, WIDTH, shown
from regnas.report.kit.formatting import percent

MEASURES = {"error_rate": "error rate (%)", "nfr": "NFR (%)", "relative_nfr": "relative NFR (%)"}
SPLITS: dict[str, tuple[Literal["-", "--"], str]] = {"report": ("-", "report split"), "train": ("--", "training split")}
MOST_TOLD = 4  # in words; the figure and update.json have all
GRAY = "#6b7280"


def flips_by_epoch(courses: Sequence[Mapping[str, Any]]) -> Figure:
    """One panel per measure, one color per method; the report split is solid, the training split dashed."""
    figure = Figure(figsize=(WIDTH, 3.3 + 0.17 * ((len(courses) + 1) // 3)), layout="constrained")
    handles: list[Line2D] = []
    for axes, (name, label) in zip(figure.subplots(1, len(MEASURES)), MEASURES.items(), strict=True):
        for index, course in enumerate(courses):
            color = COLORS[(index + index // len(MARKERS)) % len(COLORS)]
            look = {"color": color, "marker": MARKERS[index % len(MARKERS)], "markersize": 3, "linewidth": 1.3}
            for split, (dash, _) in SPLITS.items():
                values = [100 * value for value in course[split][name]]
                [line] = axes.plot(course["epochs"], values, linestyle=dash, label=shown(course["title"], 34), **look)
                if split == "report" and len(handles) < len(courses):
                    handles.append(line)
        axes.set(xlabel="epoch", ylabel=label)
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    handles += [Line2D([], [], color=GRAY, linestyle=dash, label=label) for dash, label in SPLITS.values()]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 5), fontsize=8)
    return figure


def flips_by_epoch_in_words(courses: Sequence[Mapping[str, Any]]) -> str:
    """Where each method ends, on both splits."""
    ends = [
        f"{course['title']} {percent(course['train']['nfr'][-1])} % of the {course['train']['samples']:,} training "
        f"samples and {percent(course['report']['nfr'][-1])} % of the report split"
        for course in courses[:MOST_TOLD]
    ]
    first = courses[0]
    return (
        f"Negative flips from {first['reference']} to {first['new']} after the last epoch: {'; '.join(ends)}. Flips on "
        "samples that the new model was trained on are not a matter of generalization alone."
    )
