"""NFR between every two models as one picture."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from regnas.comparison.comparison import Comparison
from regnas.report.kit.figures import WIDTH, shown
from regnas.report.kit.formatting import percent, percent_interval

# Beyond this many models the cells are too small for numbers.
MOST_WRITTEN = 14


def nfr_heat_map(comparison: Comparison) -> Figure:
    """Row = reference, column = new; the cells hold the rate and its interval in percent."""
    models, count = comparison.models, len(comparison.models)
    figure = Figure(figsize=(WIDTH, min(max(1.9, 0.62 * count + 1.1), WIDTH)), layout="constrained")
    axes: Axes = figure.subplots()
    rates = np.ma.masked_array(100 * comparison.table.nfr, mask=np.eye(count, dtype=bool))
    scale = Normalize(0, float(rates.max()) or 1.0)
    edges = np.arange(count + 1) - 0.5
    mesh = axes.pcolormesh(edges, edges, rates, norm=scale, cmap=colormaps["Blues"].resampled(256))
    axes.invert_yaxis()
    axes.set_facecolor("#e2e5ea")  # a model and itself: not a rate of 0, which is nearly white
    if count <= MOST_WRITTEN:
        for pair in comparison.pairs:
            row, column = models.index(pair.reference), models.index(pair.new)
            ink = "white" if scale(100 * pair.nfr) > 0.55 else "#1b2430"
            below = percent_interval(pair.nfr_interval)
            axes.text(column, row - 0.12, percent(pair.nfr), ha="center", va="center", color=ink, fontsize=9)
            size = 7 if count <= 8 else 5
            axes.text(column, row + 0.22, below, ha="center", va="center", color=ink, fontsize=size)
    names = [shown(name, 24) for name in models]
    axes.set_xticks(range(count), names, rotation=0 if count < 6 else 30, ha="center" if count < 6 else "right")
    axes.set_yticks(range(count), names)
    axes.set(xlabel="new", ylabel="reference")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    figure.colorbar(mesh, ax=axes, label="NFR (%)", pad=0.01)
    return figure
