"""Accuracy against cost, flips between the members, and the course of the searches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from regnas.report.family.contents import SearchHistory
from regnas.report.family.results import FamilyComparison, MethodResult
from regnas.report.kit.figures import COLORS, DASHES, GRAY, INK, MARKERS, WIDTH, shown
from regnas.report.kit.formatting import percent, percent_interval
from regnas.space import format_macs

# More points than this are drawn as one picture inside the SVG instead of as one element each.
MOST_POINTS = 2000


def top1_against_macs(comparison: FamilyComparison) -> Figure:
    """Draw Top-1 against cost: one line per method, bars for the intervals, methods at the same cost side by side."""
    figure = Figure(figsize=(WIDTH, 3.9), layout="constrained")
    axes: Axes = figure.subplots()
    methods = comparison.methods
    macs = [model.macs for method in methods for model in method.models]
    spread = max(macs) - min(macs)
    step = 0.011 * (spread or max(macs))
    for index, method in enumerate(methods):
        top1 = 100 * np.array([model.top1 for model in method.models])
        bounds = 100 * np.array([model.top1_interval for model in method.models])  # [K, 2]
        # the interval of a rate of 0 or 1 ends at the rate itself, up to rounding
        bars = np.maximum(0, np.stack([top1 - bounds[:, 0], bounds[:, 1] - top1]))
        axes.errorbar(
            [model.macs + (index - (len(methods) - 1) / 2) * step for model in method.models],
            top1,
            yerr=bars,
            **_look(index, method),
        )
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_macs(round(value)) if value > 0 else ""))
    if not spread:  # a single cost: without this the side steps would fill the axis
        axes.set_xlim(0.8 * max(macs), 1.2 * max(macs))
    axes.set(xlabel="multiply-adds (MACs)", ylabel="Top-1 (%)")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def pairs_error_against_flips(comparison: FamilyComparison) -> Figure:
    """Draw a point for each pair of members: the error rate of the larger one and its NFR. Lower left is better.

    The pairs of a method are joined in the order of the larger members, and numbered as the legend says.
    """
    figure = Figure(figsize=(WIDTH, 3.9), layout="constrained")
    axes: Axes = figure.subplots()
    pairs = [(pair.reference, pair.new) for pair in comparison.methods[0].pairs]
    for index, method in enumerate(comparison.methods):
        errors = {model.name: 100 * (1 - model.top1) for model in method.models}
        nfr = 100 * np.array([pair.nfr for pair in method.pairs])
        bounds = 100 * np.array([pair.nfr_interval for pair in method.pairs])  # [P, 2]
        across = [errors[pair.new] for pair in method.pairs]
        axes.errorbar(
            across,
            nfr,
            yerr=np.maximum(0, np.stack([nfr - bounds[:, 0], bounds[:, 1] - nfr])),
            **_look(index, method),
        )
        for number, (x, y) in enumerate(zip(across, nfr, strict=True), 1):
            axes.annotate(str(number), (x, y), xytext=(5, 4), textcoords="offset points", fontsize=7)
    axes.set_ylim(bottom=0)
    axes.set(xlabel="error rate of the larger member (%)", ylabel="NFR (%)")
    named = [f"{number}  {shown(small, 14)} to {shown(large, 14)}" for number, (small, large) in enumerate(pairs, 1)]
    handles, titles = axes.get_legend_handles_labels()
    blank = [Line2D([], [], linestyle="none") for _ in named]
    figure.legend([*handles, *blank], [*titles, *named], loc="outside right upper")
    return figure


def _look(index: int, method: MethodResult) -> dict[str, Any]:
    """Return the style of a method's line; the family, which comes first, stands out."""
    return {
        "label": shown(method.title),
        "color": COLORS[index % len(COLORS)],
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": DASHES[index % len(DASHES)],
        "linewidth": 2.2 if index == 0 else 1.0,
        "markersize": 6,
        "capsize": 2.5,
        "elinewidth": 1,
        "zorder": 3 if index == 0 else 2,
    }


def flip_heat_maps(comparison: FamilyComparison) -> Figure:
    """Draw one panel per method: NFR from each smaller member (row) to each larger one (column), on one color scale."""
    methods, members = comparison.methods, comparison.members
    cells = len(members) - 1
    panel = max(2.05, 0.62 * cells + 0.5)
    columns = max(1, min(len(methods), math.floor(WIDTH / panel)))
    rows = math.ceil(len(methods) / columns)
    # the same height of a cell for any number of cells, and room for titles and names
    height = rows * (max(0.55 * cells, 0.9) + 0.95)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    highest = max(pair.nfr for method in methods for pair in method.pairs)
    scale, colors = Normalize(0, 100 * highest or 1.0), colormaps["Blues"].resampled(256)
    edges = np.arange(cells + 1) - 0.5
    for index, axes in enumerate(grid.flat):
        if index >= len(methods):
            axes.set_axis_off()
            continue
        mesh = axes.pcolormesh(edges, edges, _upper(methods[index], members), norm=scale, cmap=colors)
        axes.invert_yaxis()
        _write_cells(axes, methods[index], members, scale)
        # On two lines, so that a long title does not overlap with that of the next panel.
        axes.set_title("\n".join(wrap(shown(methods[index].title, 40), 20)), loc="left")
        axes.set_xticks(range(cells), [shown(name, 12) for name in members[1:]], rotation=0 if cells < 5 else 30)
        axes.set_yticks(
            range(cells), [shown(name, 12) for name in members[:-1]] if index % columns == 0 else [""] * cells
        )
        axes.grid(visible=False)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    figure.supylabel("reference (smaller)", fontsize=9)
    figure.supxlabel("new (larger)", fontsize=9)
    figure.colorbar(mesh, ax=list(grid.flat), label="NFR (%)", shrink=0.9, pad=0.01, aspect=7 * height)
    return figure


def search_progress(searches: Sequence[SearchHistory]) -> Figure:
    """Draw one panel per search: the reward of each candidate, the best so far, and the chosen one."""
    columns = min(3, len(searches))
    rows = math.ceil(len(searches) / columns)
    figure = Figure(figsize=(WIDTH, 2.3 * rows + 0.3), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for index, axes in enumerate(grid.flat):
        if index >= len(searches):
            axes.set_axis_off()
        else:
            _draw_search(axes, searches[index])
            axes.set_xlabel("candidate" if index + columns >= len(searches) else "")
            axes.set_ylabel("reward" if index % columns == 0 else "")
    handles = {
        label: handle for axes in grid.flat for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside upper right", ncols=len(handles))
    return figure


def _draw_search(axes: Axes, search: SearchHistory) -> None:
    axes.set_title(shown(search.name), loc="left")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    rewards = np.array([trial.reward for trial in search.trials])
    if not len(rewards):
        axes.text(0.5, 0.5, "no candidate on record", transform=axes.transAxes, ha="center", color=GRAY)
        return
    order = np.arange(1, len(rewards) + 1)
    many = len(rewards) > MOST_POINTS
    feasible = np.array([trial.violation == 0 for trial in search.trials])
    axes.plot(
        order[feasible], rewards[feasible], ".", color="#9aa1ab", markersize=5, label="candidate", rasterized=many
    )
    if not feasible.all():
        axes.plot(
            order[~feasible],
            rewards[~feasible],
            "x",
            color="#c9ced6",
            markersize=4,
            label="too many flips",
            rasterized=many,
        )
    best = np.maximum.accumulate(np.where(feasible, rewards, -np.inf))
    best[np.isinf(best)] = np.nan  # no candidate has met the limit yet
    axes.step(order, best, where="post", color=COLORS[0], label="best so far", rasterized=many)
    chosen = [place for place, trial in enumerate(search.trials) if trial.architecture.id == search.chosen]
    axes.plot(order[chosen], rewards[chosen], "*", color=COLORS[1], markersize=11, label="chosen")


def _upper(method: MethodResult, members: Sequence[str]) -> np.ma.MaskedArray[Any, Any]:
    """Return NFR in percent [K - 1, K - 1]: row = reference without the largest, column = new without the smallest."""
    rates = 100 * np.array(method.nfr_matrix)[:-1, 1:]
    return np.ma.masked_array(rates, mask=np.tri(len(members) - 1, k=-1, dtype=bool))


def _write_cells(axes: Axes, method: MethodResult, members: Sequence[str], scale: Normalize) -> None:
    crowded = len(members) > 6
    for pair in method.pairs:
        row, column = members.index(pair.reference), members.index(pair.new) - 1
        ink = "white" if scale(100 * pair.nfr) > 0.55 else INK
        axes.text(column, row - 0.12, percent(pair.nfr), ha="center", va="center", color=ink, fontsize=9)
        below = percent_interval(pair.nfr_interval)
        axes.text(column, row + 0.22, below, ha="center", va="center", color=ink, fontsize=5 if crowded else 7)
