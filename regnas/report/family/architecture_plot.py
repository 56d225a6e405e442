"""Draw the members of a family into each other, block by block, to show which network contains which."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from regnas.report.family.contents import ReportContents, ReportedMethod
from regnas.report.kit.figures import WIDTH, shown
from regnas.space import Architecture, Block, contains

Place = tuple[int, int]  # stage, position in the stage

RED = "#c1121f"
STAGE_GAP = 0.6
MOST_COLUMNS = 2


def architectures(contents: ReportContents) -> Figure:
    """Draw one column of panels per method that has its own architectures, and one row of panels per gene."""
    methods = _with_own_architectures(contents)
    names = gene_names([each for method in methods for each in method.architectures])
    columns = min(MOST_COLUMNS, len(methods))
    bands = math.ceil(len(methods) / columns)
    rows = bands * len(names)
    figure = Figure(figsize=(WIDTH, 0.7 + 1.55 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    places = _places([each for method in methods for each in method.architectures])
    colors = member_colors(len(contents.members))
    for panel in range(bands * columns):
        band, column = divmod(panel, columns)
        for offset, gene in enumerate(names):
            axes = grid[band * len(names) + offset, column]
            if panel >= len(methods):
                axes.set_axis_off()
                continue
            _draw(axes, methods[panel].architectures, gene, places, colors)
            _mark(axes, methods[panel].architectures, gene, places, f"not-contained-panel{panel + 1}-{offset + 1}")
            axes.set_ylabel(shown(gene, 16) if column == 0 else "")
            if offset == 0:
                axes.set_title(f"{shown(methods[panel].title, 30)}: {containment(methods[panel])}", loc="left")
    handles = [Patch(color=color, label=shown(name)) for name, color in zip(contents.members, colors, strict=True)]
    if any(uncovered(small, large) for method in methods for small, large in pairwise(method.architectures)):
        handles.append(Patch(facecolor="none", edgecolor=RED, hatch="////", label="not contained in the next larger"))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 5))
    return figure


def uncovered(small: Architecture, large: Architecture, gene: str | None = None) -> list[Place]:
    """Return the blocks of ``small`` whose counterpart in ``large`` is missing or smaller, in ``gene`` or in any."""
    counterparts = {(stage, position): block for stage, position, block in large.blocks()}
    return [
        (stage, position)
        for stage, position, block in small.blocks()
        if (stage, position) not in counterparts
        or not _only(counterparts[stage, position], gene).covers(_only(block, gene))
    ]


def _only(block: Block, gene: str | None) -> Block:
    return block if gene is None else Block(tuple((name, value) for name, value in block.genes if name == gene))


def containment(method: ReportedMethod) -> str:
    """Say whether each network of a method contains the next smaller one."""
    pairs = list(pairwise(method.architectures))
    broken = sum(not contains(large, small) for small, large in pairs)
    if not pairs:
        return "a single network"
    return f"{broken} of {len(pairs)} steps break containment" if broken else "each contains the smaller one"


def gene_names(found: Sequence[Architecture]) -> list[str]:
    """Return all genes of the blocks, with the width first, because readers look for it."""
    names = sorted({name for architecture in found for _, _, block in architecture.blocks() for name, _ in block.genes})
    return sorted(names, key=lambda name: name != "width") or ["depth"]


def member_colors(count: int) -> list[Any]:
    """Return one color per member, from dark (the smallest, in front) to light (the largest, behind)."""
    return [colormaps["Blues"](shade) for shade in np.linspace(0.92, 0.32, count)]


def _with_own_architectures(contents: ReportContents) -> list[ReportedMethod]:
    """Return the family and each method that does not reuse the architectures of an earlier one."""
    own: list[ReportedMethod] = []
    for method in contents.methods:
        if all(method.architectures != earlier.architectures for earlier in own):
            own.append(method)
    return own


def _places(found: Sequence[Architecture]) -> dict[Place, float]:
    """Return the place of each block on the x axis, with a gap between two stages."""
    places = sorted({(stage, position) for architecture in found for stage, position, _ in architecture.blocks()})
    return {place: index + STAGE_GAP * place[0] for index, place in enumerate(places)}


def _draw(
    axes: Axes, members: Sequence[Architecture], gene: str, places: dict[Place, float], colors: Sequence[Any]
) -> None:
    for index in reversed(range(len(members))):  # the largest first, behind the others
        blocks = {(stage, position): dict(block.genes) for stage, position, block in members[index].blocks()}
        drawn = [place for place in places if place in blocks]
        # smaller members have narrower bars, which are visible even if two bars have the same height
        width = 0.92 * (index + 1.2) / (len(members) + 0.2)
        axes.bar(
            [places[place] for place in drawn],
            [blocks[place].get(gene, 1) for place in drawn],
            width=width,
            color=colors[index],
            edgecolor="white",
            linewidth=0.6,
        )
    axes.set_xticks(list(places.values()), [f"{stage + 1}.{position + 1}" for stage, position in places], fontsize=7)
    axes.grid(visible=False, axis="x")
    axes.tick_params(axis="x", length=0)
    axes.margins(x=0.02)


def _mark(axes: Axes, members: Sequence[Architecture], gene: str, places: dict[Place, float], name: str) -> None:
    offending = {place for small, large in pairwise(members) for place in uncovered(small, large, gene)}
    _, top = axes.get_ylim()
    for stage, position in sorted(offending):
        center = places[stage, position]
        frame = Rectangle((center - 0.49, 0), 0.98, top, fill=False, edgecolor=RED, hatch="////", linewidth=1.4)
        frame.set_gid(f"{name}-stage{stage + 1}-block{position + 1}")
        frame.set_clip_on(False)
        axes.add_patch(frame)
