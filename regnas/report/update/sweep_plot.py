"""Draw the error rate and the flips against the values of a swept key."""

from __future__ import annotations

from matplotlib.figure import Figure

from regnas.report.kit.figures import COLORS, GRAY, INK, MARKERS, WIDTH, shown
from regnas.report.update.curves import SweepResult
from regnas.report.update.measures import in_percent
from regnas.report.update.texts import swept

WIDE_RANGE = 50  # a sweep over positive values of this ratio is drawn on a logarithmic axis


def sweep_curve(sweep: SweepResult) -> Figure:
    """Draw error rate (above) and NFR (below) against the swept value.

    The report split is solid, with its spread over seeds; the search split is dashed.
    """
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    points = sorted(sweep.points, key=lambda point: point.value)
    values = [point.value for point in points]
    panels = (
        (above, "error_rate", "error rate (%)", [(point.error_rate, point.search_error_rate) for point in points]),
        (below, "nfr", "NFR (%)", [(point.nfr, point.search_nfr) for point in points]),
    )
    for index, (axes, name, label, rates) in enumerate(panels):
        color = COLORS[index]
        means, spreads = in_percent([reported for reported, _ in rates])
        searched = [100 * rate for _, rate in rates]
        axes.fill_between(values, means - spreads, means + spreads, color=color, alpha=0.18, linewidth=0)
        axes.plot(values, means, "-", color=color, marker=MARKERS[index], markersize=4, label="report split")
        axes.plot(values, searched, "--", color=GRAY, linewidth=1.1, label="search split")
        if sweep.chosen is not None:
            axes.axvline(sweep.chosen, color=INK, linestyle=":", linewidth=1.1)
        chosen = [place for place, point in enumerate(points) if sweep.is_chosen(point)]
        axes.plot(
            [values[place] for place in chosen],
            [means[place] for place in chosen],
            "*",
            color=INK,
            markersize=11,
            label=f"chosen on the search split: {swept(values[chosen[0]])}" if chosen else None,
            gid=f"chosen-{name}",
        )
        axes.set_ylabel(label)
    if values and values[0] > 0 and values[-1] >= WIDE_RANGE * values[0]:
        below.set_xscale("log")
    below.set_xlabel(shown(sweep.key))
    handles, labels = above.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=len(handles))
    return figure
