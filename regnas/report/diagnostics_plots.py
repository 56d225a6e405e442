"""Draw which samples flip: the first method in detail, and all methods side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from regnas.report.diagnostics import LOWEST_RANK, FlipDiagnostics, share_by_rank
from regnas.report.kit.figures import COLORS, INK, WIDTH, shown

OTHERS = "#9aa1ab"
RANKS = [*map(str, range(1, LOWEST_RANK)), f"{LOWEST_RANK}+", "new class"]


def first_in_detail(diagnostics: FlipDiagnostics) -> Figure:
    """Draw the first method: uncertainty (PCT, figure 4), rank of the wrong class (ELODI, figure 4) and margins."""
    method, old, new = diagnostics.methods[0], diagnostics.reference, diagnostics.new
    figure = Figure(figsize=(WIDTH, 3.1), layout="constrained")
    by_uncertainty, by_rank, by_margin = figure.subplots(1, 3)

    bins = method.reference_uncertainty.bins
    others = max(1, method.samples - method.negative_flips)
    flips = [each.share_of_flips for each in bins]
    rest = [(each.samples - each.negative_flips) / others for each in bins]
    names = [str(number) for number in range(1, len(bins) + 1)]
    _beside(by_uncertainty, names, {"negative flips": flips, "all other samples": rest})
    by_uncertainty.set(xlabel=f"tenth by uncertainty of {shown(old, 16)}, least certain last", ylabel="share (%)")

    ranks = {"negative flips": share_by_rank(method.flips), "errors of both": share_by_rank(method.common_errors)}
    told = len(RANKS) if any(shares[-1] for shares in ranks.values()) else len(RANKS) - 1
    _beside(by_rank, RANKS[:told], {name: shares[:told] for name, shares in ranks.items()})
    by_rank.set(xlabel=f"rank in {shown(old, 16)} of the wrong class")

    edges = np.array(method.margin_edges)
    kinds = (("flips", method.flips, COLORS[1]), ("errors of both", method.common_errors, OTHERS))
    for in_reference, name, dash in ((True, old, "-"), (False, new, "--")):
        for kind, mistakes, color in kinds:
            margins = mistakes.margin_in_reference if in_reference else mistakes.margin_in_new
            counts = np.array(margins.counts, dtype=float)
            label = f"{kind}, {shown(name, 12)}"
            share = 100 * counts / max(1.0, counts.sum())
            by_margin.stairs(share, edges, color=color, linestyle=dash, linewidth=1.4, label=label)
    by_margin.axvline(0, color=INK, linewidth=0.7, linestyle=":")
    by_margin.set(xlabel="p(true class) − p(wrong class)")
    by_margin.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, 1.0))
    top = by_margin.get_ylim()[1]
    by_margin.set_ylim(0, 1.45 * top)  # room for the legend
    figure.suptitle(shown(method.title), x=0.01, ha="left", fontsize=9, fontweight="bold")
    return figure


def methods_side_by_side(diagnostics: FlipDiagnostics) -> Figure:
    """Draw one row per method: NFR by tenths of the reference's uncertainty, and flips by rank of the wrong class."""
    methods = diagnostics.methods
    figure = Figure(figsize=(WIDTH, 1.0 + 0.29 * len(methods)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(10, 6))
    columns = max(len(method.reference_uncertainty.bins) for method in methods)
    rates = np.full((len(methods), columns), np.nan)
    for row, method in enumerate(methods):
        for column, each in enumerate(method.reference_uncertainty.bins):
            rates[row, column] = 100 * each.negative_flip_rate
    shares = 100 * np.array([share_by_rank(method.flips) for method in methods])
    _cells(left, rates, [str(number) for number in range(1, columns + 1)], "Blues", "{:.1f}")
    told = [place for place in range(len(RANKS)) if place in (1, 2, 3, 4) or shares[:, place].any()]
    _cells(right, shares[:, told], [RANKS[place] for place in told], "Greens", "{:.0f}")
    left.set_yticks(range(len(methods)), [shown(method.title, 34) for method in methods])
    left.invert_yaxis()
    old = shown(diagnostics.reference, 16)
    left.set_title("NFR (%) by uncertainty", loc="left")
    left.set_xlabel(f"tenth by uncertainty of {old}, least certain last")
    right.set_title("flips (%) by rank of the wrong class", loc="left")
    right.set_xlabel(f"rank in {old}")
    return figure


def _beside(axes: Axes, names: Sequence[str], shares: Mapping[str, Sequence[float]]) -> None:
    """Draw bars of two kinds of samples side by side, in percent of each kind."""
    places = np.arange(len(names))
    for index, (name, values) in enumerate(shares.items()):
        color, offset = (COLORS[1], -0.2) if index == 0 else (OTHERS, 0.2)
        axes.bar(places + offset, [100 * value for value in values], width=0.4, color=color, label=name)
    axes.set_xticks(places, names)
    axes.grid(visible=False, axis="x")
    axes.legend(fontsize=7)


def _cells(axes: Axes, values: np.ndarray, names: Sequence[str], colors: str, form: str) -> None:
    """Draw a heat map with its numbers; cells without a number stay empty."""
    rows, columns = values.shape
    scale = Normalize(0, np.nanmax(values) or 1.0)
    edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
    axes.pcolormesh(*edges, np.ma.masked_invalid(values), norm=scale, cmap=colormaps[colors].resampled(256))
    for row, column in np.argwhere(~np.isnan(values)).tolist():
        value = values[row, column]
        ink = "white" if scale(value) > 0.55 else INK
        axes.text(column, row, form.format(value), ha="center", va="center", color=ink, fontsize=7.5)
    axes.set_xticks(range(columns), names)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
