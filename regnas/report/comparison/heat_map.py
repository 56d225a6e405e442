"""Draw the NFR between every two models as one SVG.

The SVG is written here and not by matplotlib, which would more than double the size of `pip install regnas`.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np

from regnas.comparison.comparison import Comparison
from regnas.report.kit.formatting import percent, percent_interval
from regnas.runtime.printable import printable

# Beyond this many models the cells are too small for numbers.
MOST_WRITTEN = 14
WIDTH = 750.0
LEGEND_WIDTH, LEGEND_HEIGHT = 160.0, 10.0
LONGEST_NAME = 24
CHARACTER = 6.4  # width of a character of the font at 11 pixels

INK, SAME_MODEL = "#1b2430", "#e2e5ea"  # a model and itself: not a rate of 0, which is nearly white
BLUES = ("#f7fbff", "#deebf7", "#c6dbef", "#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#08519c", "#08306b")


def nfr_heat_map(comparison: Comparison) -> str:
    """Draw an SVG document: row = reference, column = new; the cells hold the rate and its interval in percent."""
    models = [_short(name) for name in comparison.models]
    count = len(models)
    left = 34 + CHARACTER * max(len(name) for name in models)
    width = min(150.0, (WIDTH - left - 10) / count)
    height = 44.0 if count <= MOST_WRITTEN else width
    slanted = max(len(name) for name in models) * CHARACTER > width - 6
    top = 34 + (CHARACTER * 0.5 * max(len(name) for name in models) if slanted else 0)
    bottom = top + height * count
    lines = [
        *_names(models, left, top, width, height, slanted),
        *_cells(comparison, left, top, width, height),
        *_legend(float(_rates(comparison).max()), left, bottom + 14),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {bottom + 46:.1f}" '
        f'font-family="DejaVu Sans, sans-serif" font-size="11" fill="{INK}">' + "".join(lines) + "</svg>"
    )


def color(share: float) -> str:
    """Return the color of a rate, as a share of the highest one: nearly white for 0, dark blue for 1."""
    place = min(max(share, 0.0), 1.0) * (len(BLUES) - 1)
    index = min(int(place), len(BLUES) - 2)
    low, high = (np.array([int(text[at : at + 2], 16) for at in (1, 3, 5)]) for text in BLUES[index : index + 2])
    mixed = np.rint(low + (place - index) * (high - low)).astype(int)
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def _rates(comparison: Comparison) -> np.ma.MaskedArray[tuple[int, ...], np.dtype[np.float64]]:
    return np.ma.masked_array(comparison.table.nfr, mask=np.eye(len(comparison.models), dtype=bool))


def _cells(comparison: Comparison, left: float, top: float, width: float, height: float) -> Iterator[str]:
    models, highest = comparison.models, float(_rates(comparison).max()) or 1.0
    for index in range(len(models)):
        yield _rectangle(left + index * width, top + index * height, width, height, SAME_MODEL)
    for pair in comparison.pairs:
        x, y = left + models.index(pair.new) * width, top + models.index(pair.reference) * height
        yield _rectangle(x, y, width, height, color(pair.nfr / highest))
        if len(models) <= MOST_WRITTEN:
            ink = "#ffffff" if pair.nfr / highest > 0.55 else INK
            small = min(9.0, width / 8)
            yield _text(x + width / 2, y + 19, percent(pair.nfr), ink, size=min(11.0, width / 5))
            yield _text(x + width / 2, y + 34, percent_interval(pair.nfr_interval), ink, size=small)


def _names(models: list[str], left: float, top: float, width: float, height: float, slanted: bool) -> Iterator[str]:
    for index, name in enumerate(models):
        x, y = left + (index + 0.5) * width, top - 8
        if slanted:
            yield _text(x, y, name, anchor="start", turn=f' transform="rotate(-30 {x:.1f} {y:.1f})"')
        else:
            yield _text(x, y, name)
        yield _text(left - 8, top + (index + 0.5) * height + 4, name, anchor="end")
    yield _text(left, 12, "new", anchor="start", weight="bold")
    middle = top + height * len(models) / 2
    yield _text(12, middle, "reference", weight="bold", turn=f' transform="rotate(-90 12 {middle:.1f})"')


def _legend(highest: float, left: float, top: float) -> Iterator[str]:
    steps = 32
    for step in range(steps):
        x = left + step * LEGEND_WIDTH / steps
        yield _rectangle(x, top, LEGEND_WIDTH / steps, LEGEND_HEIGHT, color(step / (steps - 1)))
    yield _text(left, top + 24, "0", anchor="start")
    yield _text(left + LEGEND_WIDTH, top + 24, percent(highest), anchor="end")
    yield _text(left + LEGEND_WIDTH + 10, top + 9, "NFR (%)", anchor="start")


def _rectangle(x: float, y: float, width: float, height: float, fill: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'


def _text(
    x: float,
    y: float,
    text: str,
    ink: str = INK,
    *,
    size: float = 11.0,
    anchor: str = "middle",
    weight: str = "normal",
    turn: str = "",
) -> str:
    style = f'fill="{ink}" font-size="{size:.1f}" text-anchor="{anchor}" font-weight="{weight}"{turn}'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'


def _short(name: str) -> str:
    shown = printable(name).strip()
    return shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 1]}…"
