"""The common style of all figures, and writing them to files.

Figures are made without pyplot, so no global state changes, and the same data give the same bytes. Text stays text, so
the files are small, and browsers can search the text.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from regnas.report.kit.documents import write_document
from regnas.runtime.files import write_bytes
from regnas.runtime.printable import without_controls

WIDTH = 10.4  # inches
DOTS = 144  # per inch, in PNG files

STYLE: Any = {  # the type that matplotlib gives to its keys differs between its versions
    "svg.fonttype": "none",
    "svg.hashsalt": "regnas",
    "text.parse_math": False,  # a "$" in a name is a dollar
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib, so that the layout is the same everywhere
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a8f98",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e8eb",
    "grid.linewidth": 0.7,
    "xtick.color": "#3c4149",
    "ytick.color": "#3c4149",
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
}

GRAY, INK = "#6b7280", "#1b2430"

# The palette of Okabe and Ito, which color-blind readers can distinguish. Each color has its own marker and dash, which
# can be distinguished in gray.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


@dataclass(frozen=True)
class Picture:
    """A figure as SVG, for pages, and as PNG, for slides and chats."""

    svg: str
    png: bytes


def picture(draw: Callable[[], Figure]) -> Picture:
    """Draw a figure in the common style, as SVG and PNG."""
    with _common_style():
        figure = draw()
        document = _svg(figure)
        figure.set_layout_engine("none")  # the layout is done, and repeating it takes as long as drawing
        return Picture(document, _png(figure))


def svg(draw: Callable[[], Figure]) -> str:
    """Draw a figure in the common style and return the SVG document."""
    with _common_style():
        return _svg(draw())


def write_picture(path: Path, drawn: Picture) -> None:
    """Write the SVG and the PNG; ``path`` has no suffix."""
    write_document(path.with_name(f"{path.name}.svg"), drawn.svg)
    write_bytes(path.with_name(f"{path.name}.png"), drawn.png)


@contextmanager
def _common_style() -> Iterator[None]:
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        # The font that measures texts lacks some scripts; the browser has fonts for them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        yield


# The canvases write the files, because Figure.savefig would draw each figure twice, once only for the layout.
# The files contain no date and no program, so that the same data give the same bytes.


def _svg(figure: Figure) -> str:
    sink = io.BytesIO()
    canvas: Any = FigureCanvasSVG(figure)
    canvas.print_svg(sink, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return without_controls(sink.getvalue().decode())


def _png(figure: Figure) -> bytes:
    sink = io.BytesIO()
    figure.set_dpi(DOTS)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.print_png(sink, metadata={"Software": None})
    return sink.getvalue()


def shown(text: str, most: int = 40) -> str:
    """Return a name as a figure can show it: on one line, short, without characters that XML forbids."""
    printable = "".join(each if each.isprintable() else " " for each in text).strip()
    short = printable if len(printable) <= most else f"{printable[: most - 1]}…"
    # matplotlib leaves labels with a leading underscore out of legends; a word joiner has no width
    return f"\u2060{short}" if short.startswith("_") else short
