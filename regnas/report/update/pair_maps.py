"""Flips of every pair of a chain: one heat map per method."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from regnas.report.kit.figures import INK, WIDTH, shown
from regnas.report.kit.formatting import percent
from regnas.report.update.measures import Measure
from regnas.report.update.results import UpdateResult


def pairwise_maps(results: UpdateResult) -> Figure:
    """Draw one panel per method: NFR from each model (row) to each later one (column), on one color scale."""
    methods, models = results.methods, results.models
    cells = len(models) - 1
    columns = max(1, min(len(methods), math.floor(WIDTH / max(2.4, 0.62 * cells + 0.5))))
    rows = math.ceil(len(methods) / columns)
    height = rows * (max(0.5 * cells, 0.9) + 0.6) + 0.3
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    highest = max(pair.nfr.mean for method in methods for pair in method.pairs)
    scale, colors = Normalize(0, 100 * highest or 1.0), colormaps["Blues"].resampled(256)
    edges = np.arange(cells + 1) - 0.5
    names = results.titles
    for index, axes in enumerate(grid.flat):
        if index >= len(methods):
            axes.set_axis_off()
            continue
        matrix = results.nfr_matrix(methods[index])
        rates = np.array([[np.nan if cell is None else 100 * cell.mean for cell in row] for row in matrix])
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


def _write_cells(axes: Axes, matrix: Sequence[Sequence[Measure | None]], scale: Normalize) -> None:
    for row, cells in enumerate(matrix):
        for column, cell in enumerate(cells):
            if cell is None:
                continue
            ink = "white" if scale(100 * cell.mean) > 0.55 else INK
            axes.text(column, row - 0.1, percent(cell.mean), ha="center", va="center", color=ink, fontsize=9)
            if cell.spread is not None:
                below = f"± {percent(cell.spread)}"
                axes.text(column, row + 0.24, below, ha="center", va="center", color=ink, fontsize=7)
