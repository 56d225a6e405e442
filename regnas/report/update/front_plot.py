"""Draw error rate against flips: every method, the Pareto front, the sweeps and the noise floor; legible in gray."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from regnas.report.kit.figures import COLORS, DASHES, GRAY, INK, MARKERS, WIDTH, shown
from regnas.report.kit.formatting import percent
from regnas.report.update.curves import SweepResult
from regnas.report.update.labels import label_offsets
from regnas.report.update.measures import in_percent
from regnas.report.update.methods import UNTREATED, MethodResult
from regnas.report.update.results import UpdateResult
from regnas.report.update.texts import mark_titles

BEHIND = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}  # of labels
LEADER = {"arrowstyle": "-", "color": GRAY, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 3}


def error_against_flips(results: UpdateResult) -> Figure:
    """Draw one numbered point per method, the Pareto front, the curves of the sweeps and the noise floor."""
    methods = results.methods
    entries = len(methods) + len(results.sweeps) + 2
    figure = Figure(figsize=(WIDTH, max(4.4, 0.6 + 0.195 * entries)), layout="constrained")
    axes: Axes = figure.subplots()
    handles = [_draw_method(axes, index, method) for index, method in enumerate(methods)]
    for handle, number, title in zip(handles, range(1, len(methods) + 1), mark_titles(results), strict=True):
        handle.set_label(f"{number}  {shown(title, 34)}")
    _limit(axes, results)
    handles.append(_draw_front(axes, methods))
    handles += [_draw_sweep(axes, index, sweep) for index, sweep in enumerate(results.sweeps)]
    _draw_floor(axes, results)
    flips = "mean NFR over the pairs (%)" if results.is_chain else "NFR (%)"
    axes.set(xlabel=f"error rate of {shown(results.models[-1])} (%)", ylabel=flips)
    figure.legend(handles=handles, loc="outside right upper", fontsize=8, labelspacing=0.45, handlelength=2.2)
    _number(figure, axes, methods)
    return figure


def front(methods: Sequence[MethodResult]) -> list[tuple[float, float]]:
    """Return error rate and NFR in percent of the methods on the Pareto front, from left to right."""
    return sorted(_position(method) for method in methods if method.on_front)


def _position(method: MethodResult) -> tuple[float, float]:
    return 100 * method.error_rate.mean, 100 * method.mean_nfr.mean


def _draw_method(axes: Axes, index: int, method: MethodResult) -> Line2D:
    (x, y), (x_spread, y_spread) = in_percent([method.error_rate, method.mean_nfr])
    plain = method.name == UNTREATED
    # 7 markers and 7 colors that shift against each other: 49 combinations before one repeats
    color = INK if plain else COLORS[(index + index // len(MARKERS)) % len(COLORS)]
    axes.errorbar(x, y, xerr=x_spread, yerr=y_spread, color=color, alpha=0.45, linewidth=0, elinewidth=0.9, zorder=2)
    [line] = axes.plot(
        [x],
        [y],
        linestyle="none",
        marker="H" if plain else MARKERS[index % len(MARKERS)],
        color=color,
        markerfacecolor=color if method.on_front else "white",
        markersize=8.5 if plain else 6.5,
        markeredgewidth=1.2,
        zorder=4,
        gid=f"method-{index + 1}",
    )
    return line


def _limit(axes: Axes, results: UpdateResult) -> None:
    """Limit the axes to all methods and the noise floor; a sweep may leave the frame, toward an old model far away."""
    x, x_spread = in_percent([method.error_rate for method in results.methods])
    y, y_spread = in_percent([*(method.mean_nfr for method in results.methods), results.noise_floor.nfr])
    for lows, highs, limit in (
        (x - x_spread, x + x_spread, axes.set_xlim),
        (y - y_spread, y + y_spread, axes.set_ylim),
    ):
        margin = 0.07 * (highs.max() - lows.min()) or 1.0
        limit(max(lows.min() - margin, -0.4 * margin), highs.max() + margin)


def _draw_front(axes: Axes, methods: Sequence[MethodResult]) -> Line2D:
    corners = front(methods)
    [line] = axes.step(
        [x for x, _ in corners],
        [y for _, y in corners],
        where="post",  # a point of the front beats everything to the right of it and above it
        color=INK,
        linewidth=1.1,
        alpha=0.7,
        label="Pareto front (filled)",
        gid="pareto-front",
        zorder=1.5,
    )
    return line


def _draw_sweep(axes: Axes, index: int, sweep: SweepResult) -> Line2D:
    [line] = axes.plot(
        [100 * point.error_rate.mean for point in sweep.points],
        [100 * point.nfr.mean for point in sweep.points],
        color=GRAY,
        linestyle=DASHES[1 + index % (len(DASHES) - 1)],  # the front is the solid line
        linewidth=0.9,
        marker=".",
        markersize=3.5,
        label=shown(f"{sweep.title}: {sweep.key}", 36),
        zorder=1.4,
    )
    return line


def _draw_floor(axes: Axes, results: UpdateResult) -> None:
    height = 100 * results.noise_floor.nfr.mean
    axes.axhline(height, color=GRAY, linestyle=(0, (7, 4)), linewidth=1.1, zorder=1.3, gid="noise-floor")
    low, high = axes.get_ylim()
    left, right = axes.get_xlim()
    near = [x for x, y in map(_position, results.methods) if 0 <= y - height < 0.07 * (high - low)]
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


def _number(figure: Figure, axes: Axes, methods: Sequence[MethodResult]) -> None:
    figure.draw_without_rendering()  # computes the layout, which gives the places of the points on paper
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
