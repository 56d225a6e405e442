"""Error rate against flips, the sweeps, and the pairs of a chain. All of it can be read in gray."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from regnas.report.kit.figures import COLORS, DASHES, MARKERS, WIDTH, shown
from regnas.report.kit.formatting import percent
from regnas.report.update.labels import label_offsets
from regnas.report.update.tables import is_chosen, nfr_matrix
from regnas.report.update.values import (
    UNTREATED,
    Measure,
    Results,
    last_error_rate,
    marked_titles,
    mean_nfr,
    swept,
    titles,
)

GRAY, INK = "#6b7280", "#1b2430"
BEHIND = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}  # of labels
LEADER = {"arrowstyle": "-", "color": GRAY, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 3}
WIDE_RANGE = 50  # a sweep over positive values of this ratio is drawn on a logarithmic axis


def error_against_flips(results: Results) -> Figure:
    """One numbered point per method, the Pareto front, the curves of the sweeps and the noise floor."""
    methods = results["methods"]
    entries = len(methods) + len(results["sweeps"]) + 2
    figure = Figure(figsize=(WIDTH, max(4.4, 0.6 + 0.195 * entries)), layout="constrained")
    axes: Axes = figure.subplots()
    handles = [_draw_method(axes, index, method) for index, method in enumerate(methods)]
    for handle, number, title in zip(handles, range(1, len(methods) + 1), marked_titles(results), strict=True):
        handle.set_label(f"{number}  {shown(title, 34)}")
    _limit(axes, results)
    handles.append(_draw_front(axes, methods))
    handles += [_draw_sweep(axes, index, sweep) for index, sweep in enumerate(results["sweeps"])]
    _draw_floor(axes, results)
    flips = "mean NFR over the pairs (%)" if len(methods[0]["pairs"]) > 1 else "NFR (%)"
    axes.set(xlabel=f"error rate of {shown(results['models'][-1])} (%)", ylabel=flips)
    figure.legend(handles=handles, loc="outside right upper", fontsize=8, labelspacing=0.45, handlelength=2.2)
    _number(figure, axes, methods)
    return figure


def sweep_curve(sweep: Mapping[str, Any]) -> Figure:
    """Error rate above, NFR below, against the swept value: report split solid with its spread, search split dashed."""
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    points = sorted(sweep["points"], key=lambda point: float(point["value"]))
    values = [point["value"] for point in points]
    for axes, name, color, label in ((above, "error_rate", 0, "error rate (%)"), (below, "nfr", 1, "NFR (%)")):
        measures = [point[name] for point in points]
        means, spreads = _percent_of(measures)
        searched = [100 * point[f"search_{name}"] for point in points]
        axes.fill_between(values, means - spreads, means + spreads, color=COLORS[color], alpha=0.18, linewidth=0)
        axes.plot(values, means, "-", color=COLORS[color], marker=MARKERS[color], markersize=4, label="report split")
        axes.plot(values, searched, "--", color=GRAY, linewidth=1.1, label="search split")
        if sweep["chosen"] is not None:
            axes.axvline(sweep["chosen"], color=INK, linestyle=":", linewidth=1.1)
        chosen = [index for index, point in enumerate(points) if is_chosen(sweep, point)]
        axes.plot(
            [values[index] for index in chosen],
            [means[index] for index in chosen],
            "*",
            color=INK,
            markersize=11,
            label=f"chosen on the search split: {swept(sweep['chosen'])}" if chosen else None,
            gid=f"chosen-{name}",
        )
        axes.set_ylabel(label)
    if values and values[0] > 0 and values[-1] >= WIDE_RANGE * values[0]:
        below.set_xscale("log")
    below.set_xlabel(shown(sweep["key"]))
    handles, labels = above.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=len(handles))
    return figure


def pairwise_maps(results: Results) -> Figure:
    """One panel per method: NFR from each model (row) to each later one (column), on one color scale."""
    methods, models = results["methods"], results["models"]
    cells = len(models) - 1
    columns = max(1, min(len(methods), math.floor(WIDTH / max(2.4, 0.62 * cells + 0.5))))
    rows = math.ceil(len(methods) / columns)
    height = rows * (max(0.5 * cells, 0.9) + 0.6) + 0.3
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    highest = max(pair["nfr"]["mean"] for method in methods for pair in method["pairs"])
    scale, colors = Normalize(0, 100 * highest or 1.0), colormaps["Blues"].resampled(256)
    edges = np.arange(cells + 1) - 0.5
    names = titles(results)
    for index, axes in enumerate(grid.flat):
        if index >= len(methods):
            axes.set_axis_off()
            continue
        matrix = nfr_matrix(results, methods[index])
        rates = np.array([[np.nan if cell is None else 100 * cell["mean"] for cell in row] for row in matrix])
        mesh = axes.pcolormesh(edges, edges, np.ma.masked_invalid(rates), norm=scale, cmap=colors)
        axes.invert_yaxis()
        _write_cells(axes, matrix, scale)
        axes.set_title(shown(names[index], 28), loc="left", fontsize=8)
        last_of_column = index + columns >= len(methods)
        axes.set_xticks(range(cells), [shown(name, 12) for name in models[1:]] if last_of_column else [""] * cells)
        first_of_row = index % columns == 0
        axes.set_yticks(range(cells), [shown(name, 12) for name in models[:-1]] if first_of_row else [""] * cells)
        axes.grid(visible=False)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    figure.supylabel("reference", fontsize=9)
    figure.supxlabel("new", fontsize=9)
    figure.colorbar(mesh, ax=list(grid.flat), label="NFR (%)", shrink=0.9, pad=0.01, aspect=7 * height)
    return figure


def front(methods: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """Error rate and NFR, in percent, of the methods that the results call the front, from the left to the right."""
    return sorted(_position(method) for method in methods if method["on_front"])


def _position(method: Mapping[str, Any]) -> tuple[float, float]:
    return 100 * last_error_rate(method)["mean"], 100 * mean_nfr(method)["mean"]


def _percent_of(measures: Sequence[Measure]) -> tuple[np.ndarray, np.ndarray]:
    """Means and spreads in percent; the spread of a single seed is not known and drawn as none."""
    means = 100 * np.array([measure["mean"] for measure in measures], dtype=float)
    return means, 100 * np.array([measure["spread"] or 0 for measure in measures], dtype=float)


def _draw_method(axes: Axes, index: int, method: Mapping[str, Any]) -> Line2D:
    (x, y), (x_spread, y_spread) = _percent_of([last_error_rate(method), mean_nfr(method)])
    plain = method["name"] == UNTREATED
    # 7 markers and 7 colors that shift against each other: 49 looks before one comes back
    color = INK if plain else COLORS[(index + index // len(MARKERS)) % len(COLORS)]
    axes.errorbar(x, y, xerr=x_spread, yerr=y_spread, color=color, alpha=0.45, linewidth=0, elinewidth=0.9, zorder=2)
    [line] = axes.plot(
        [x],
        [y],
        linestyle="none",
        marker="H" if plain else MARKERS[index % len(MARKERS)],
        color=color,
        markerfacecolor=color if method["on_front"] else "white",
        markersize=8.5 if plain else 6.5,
        markeredgewidth=1.2,
        zorder=4,
        gid=f"method-{index + 1}",
    )
    return line


def _limit(axes: Axes, results: Results) -> None:
    """Show all methods and the floor; a sweep may go on beyond, down to an old model far away."""
    x, x_spread = _percent_of([last_error_rate(method) for method in results["methods"]])
    y, y_spread = _percent_of([*(mean_nfr(method) for method in results["methods"]), results["noise_floor"]["nfr"]])
    for lows, highs, limit in (
        (x - x_spread, x + x_spread, axes.set_xlim),
        (y - y_spread, y + y_spread, axes.set_ylim),
    ):
        margin = 0.07 * (highs.max() - lows.min()) or 1.0
        limit(max(lows.min() - margin, -0.4 * margin), highs.max() + margin)


def _draw_front(axes: Axes, methods: Sequence[Mapping[str, Any]]) -> Line2D:
    corners = front(methods)
    [line] = axes.step(
        [x for x, _ in corners],
        [y for _, y in corners],
        where="post",  # what lies to the right of a point of the front and above it is beaten by it
        color=INK,
        linewidth=1.1,
        alpha=0.7,
        label="Pareto front (filled)",
        gid="pareto-front",
        zorder=1.5,
    )
    return line


def _draw_sweep(axes: Axes, index: int, sweep: Mapping[str, Any]) -> Line2D:
    [line] = axes.plot(
        [100 * point["error_rate"]["mean"] for point in sweep["points"]],
        [100 * point["nfr"]["mean"] for point in sweep["points"]],
        color=GRAY,
        linestyle=DASHES[1 + index % (len(DASHES) - 1)],  # the front is the solid line
        linewidth=0.9,
        marker=".",
        markersize=3.5,
        label=shown(f"{sweep['title']}: {sweep['key']}", 36),
        zorder=1.4,
    )
    return line


def _draw_floor(axes: Axes, results: Results) -> None:
    height = 100 * results["noise_floor"]["nfr"]["mean"]
    axes.axhline(height, color=GRAY, linestyle=(0, (7, 4)), linewidth=1.1, zorder=1.3, gid="noise-floor")
    low, high = axes.get_ylim()
    left, right = axes.get_xlim()
    near = [x for x, y in map(_position, results["methods"]) if 0 <= y - height < 0.07 * (high - low)]
    at_left = sum(x < left + 0.4 * (right - left) for x in near) < sum(x > right - 0.4 * (right - left) for x in near)
    axes.annotate(
        f"noise floor {percent(height / 100)}: same recipe, trained twice",
        (0.005 if at_left else 0.995, height),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="left" if at_left else "right",
        va="bottom",
        fontsize=7.5,
        color="#4b5563",
        zorder=1.6,
        bbox=BEHIND,
    ).set_in_layout(False)


def _number(figure: Figure, axes: Axes, methods: Sequence[Mapping[str, Any]]) -> None:
    figure.draw_without_rendering()  # lays the figure out: only now is it known where the points lie on paper
    to_points = 72 / figure.dpi
    frame = axes.get_window_extent()
    corner = np.array([frame.x0, frame.y0])
    places = (axes.transData.transform([_position(method) for method in methods]) - corner) * to_points
    texts = [str(number) for number in range(1, len(methods) + 1)]
    points = [(float(x), float(y)) for x, y in places]
    offsets = label_offsets(points, texts, frame.width * to_points, frame.height * to_points)
    for method, text, offset in zip(methods, texts, offsets, strict=True):
        far = math.hypot(*offset) > 10
        axes.annotate(
            text,
            _position(method),
            xytext=offset,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=8,
            color=INK,
            zorder=5,
            bbox=BEHIND,
            arrowprops=LEADER if far else None,
        ).set_in_layout(False)


def _write_cells(axes: Axes, matrix: Sequence[Sequence[Measure | None]], scale: Normalize) -> None:
    for row, cells in enumerate(matrix):
        for column, cell in enumerate(cells):
            if cell is None:
                continue
            ink = "white" if scale(100 * cell["mean"]) > 0.55 else INK
            axes.text(column, row - 0.1, percent(cell["mean"]), ha="center", va="center", color=ink, fontsize=9)
            if cell["spread"] is not None:
                below = f"± {percent(cell['spread'])}"
                axes.text(column, row + 0.24, below, ha="center", va="center", color=ink, fontsize=7)
