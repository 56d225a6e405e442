"""Draw error rate against flips of all rows, and flips against the gap in accuracy with and without shared weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.cifar10.choices import method_title
from regnas.report.kit.figures import COLORS, DASHES, GRAY, INK, MARKERS, WIDTH, shown
from regnas.report.update.labels import label_offsets

BEHIND = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}  # of labels
LEADER = {"arrowstyle": "-", "color": GRAY, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 3}

Points = Sequence[Mapping[str, Any]]


def front_figure(points: Points) -> Figure:
    """Draw one line per method through its settings, with intervals, and the Pareto front of regnas' methods.

    Points of regnas' methods are filled. The settings are beside their points, and a ring marks the setting that the
    search split chose.
    """
    methods = list(dict.fromkeys(point["method"] for point in points))
    figure = Figure(figsize=(WIDTH, 5.4), layout="constrained")
    axes: Axes = figure.subplots()
    handles = [
        _draw_method(axes, index, [point for point in points if point["method"] == method])
        for index, method in enumerate(methods)
    ]
    corners = sorted(_position(point) for point in points if point["on_front"])
    if corners:
        [line] = axes.step(
            [x for x, _ in corners],
            [y for _, y in corners],
            where="post",  # a point of the front beats everything to the right of it and above it
            color=INK,
            linewidth=1.1,
            alpha=0.7,
            zorder=1.5,
            label="Pareto front of regnas (filled points)",
            gid="pareto-front",
        )
        handles.append(line)
    handles += _draw_chosen(axes, points)
    axes.set_ylim(bottom=0)
    axes.set(xlabel="error rate of the larger network, mean over the pairs (%)", ylabel="mean NFR over the pairs (%)")
    figure.legend(handles=handles, loc="outside right upper", fontsize=8, labelspacing=0.6, handlelength=2.4)
    _label_settings(figure, axes, points)
    return figure


def _position(point: Mapping[str, Any]) -> tuple[float, float]:
    return 100 * point["error_rate"]["mean"], 100 * point["mean_nfr"]["mean"]


def _draw_method(axes: Axes, index: int, settings: Points) -> Line2D:
    # 7 markers and 7 colors that shift against each other: 49 combinations before one repeats
    color = COLORS[(index + index // len(MARKERS)) % len(COLORS)]
    places = np.array([_position(point) for point in settings])  # [K, 2]
    bars = [_bars([point[key] for point in settings]) for key in ("error_rate", "mean_nfr")]
    x, y = places.T
    axes.errorbar(x, y, xerr=bars[0], yerr=bars[1], color=color, alpha=0.4, linewidth=0, elinewidth=0.8, zorder=2)
    look: dict[str, Any] = {
        "color": color,
        "marker": MARKERS[index % len(MARKERS)],
        "markersize": 6,
        "markeredgewidth": 1.2,
        "markerfacecolor": color if settings[0]["regnas"] else "white",
        "zorder": 3,
    }
    joined = np.array([bool(point["setting"]) for point in settings])  # a row without a setting has no neighbor
    axes.plot(x[~joined], y[~joined], linestyle="none", **look)
    [line] = axes.plot(
        x[joined],
        y[joined],
        linestyle=DASHES[index % len(DASHES)] if joined.any() else "none",
        linewidth=1.0,
        label=shown(method_title(settings[0]["method"]), 36),
        gid=f"method-{index + 1}",
        **look,
    )
    return line


def _bars(measures: Points) -> np.ndarray:
    """Return the lengths of error bars [2, K]; the interval of a rate of 0 may end at the rate, up to rounding."""
    means = np.array([measure["mean"] for measure in measures])
    low, high = np.array([measure["interval"] for measure in measures]).T
    lengths: np.ndarray = 100 * np.maximum(0, np.stack([means - low, high - means]))
    return lengths


def _draw_chosen(axes: Axes, points: Points) -> list[Line2D]:
    """Mark the chosen settings of methods with several settings."""
    places = [_position(point) for point in points if point["chosen"] and _of_several(point, points)]
    if not places:
        return []
    x, y = np.array(places).T
    return axes.plot(
        x,
        y,
        "o",
        markersize=11,
        markerfacecolor="none",
        markeredgecolor=INK,
        markeredgewidth=1.0,
        zorder=3.5,
        label="setting that the search split chose",
        gid="chosen",
    )


def _of_several(point: Mapping[str, Any], points: Points) -> bool:
    return [other["method"] for other in points].count(point["method"]) > 1


def _label_settings(figure: Figure, axes: Axes, points: Points) -> None:
    figure.draw_without_rendering()  # lays the figure out: only now is it known where the points lie on paper
    to_points = 72 / figure.dpi
    frame = axes.get_window_extent()
    corner = np.array([frame.x0, frame.y0])
    places = [
        (float(x), float(y))
        for x, y in (axes.transData.transform([_position(point) for point in points]) - corner) * to_points
    ]
    # points without a text are kept free of the texts of others all the same
    texts = [shown(point["setting"], 8) if _of_several(point, points) else "" for point in points]
    offsets = label_offsets(places, texts, frame.width * to_points, frame.height * to_points)
    for point, text, offset in zip(points, texts, offsets, strict=True):
        if text:
            outward = 1.25 if point["chosen"] else 1.0  # its ring is wider than a point
            axes.annotate(
                text,
                _position(point),
                xytext=(outward * offset[0], outward * offset[1]),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=7,
                color=INK,
                zorder=5,
                bbox=BEHIND,
                arrowprops=LEADER if math.hypot(*offset) > 10 else None,
            ).set_in_layout(False)


SHARING_TITLES = {"independent": "independent networks", "supernet": "sub-networks of one supernet"}


def sharing_figure(found: Mapping[str, Any]) -> Figure:
    """Draw two clouds of pairs with their lines by least squares: NFR, and relative NFR."""
    figure = Figure(figsize=(WIDTH, 4.0), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, key, label in zip(panels, ("nfr", "relative_nfr"), ("NFR (%)", "relative NFR (%)"), strict=True):
        for index, (name, cloud) in enumerate(found["clouds"].items()):
            if cloud["points"]:
                _draw_cloud(axes, index, name, cloud, key)
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.set(xlabel="gap in Top-1 between the two networks (points)", ylabel=label)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=len(handles))
    return figure


def _draw_cloud(axes: Axes, index: int, name: str, cloud: Mapping[str, Any], key: str) -> None:
    gaps = 100 * np.array([point["gap"] for point in cloud["points"]])
    values = 100 * np.array([point[key] for point in cloud["points"]])
    line = cloud[f"{key}_line"]
    families = f"{cloud['families']} {'family' if cloud['families'] == 1 else 'families'}"
    axes.plot(
        gaps,
        values,
        linestyle="none",
        marker=MARKERS[index],
        color=COLORS[index],
        markerfacecolor=COLORS[index] if name == "supernet" else "white",
        markersize=5,
        alpha=0.85,
        label=f"{SHARING_TITLES[name]} ({families})",
        gid=f"{key}-{name}",
    )
    ends = np.array([gaps.min(), gaps.max()])
    fitted = 100 * line["intercept"] + line["slope"] * ends
    axes.plot(ends, fitted, color=COLORS[index], linestyle=DASHES[index], linewidth=1.4)
