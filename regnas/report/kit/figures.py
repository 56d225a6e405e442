"""The look that all figures share, and how they become files.

Figures are made without pyplot, so that nothing global is left behind, and come out byte for byte the same for the
same data. Text stays text: the files are small, and the browser can find and read it.
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
DOTS = 144  # an inch, of PNG files

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

# Okabe and Ito: told apart by the color-blind; each with its own marker and dash, to be told apart in gray too.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


@dataclass(frozen=True)
class Picture:
    """A figure for pages (SVG) and for slides and chats (PNG)."""

    svg: str
    png: bytes


def picture(draw: Callable[[], Figure]) -> Picture:
    """Draw under the common style."""
    with _common_style():
        figure = draw()
        document = _svg(figure)
        figure.set_layout_engine("none")  # it is laid out: doing that again takes as long as drawing
        return Picture(document, _png(figure))


def svg(draw: Callable[[], Figure]) -> str:
    """Draw under the common style and return the SVG document."""
    with _common_style():
        return _svg(draw())


def write_picture(path: Path, drawn: Picture) -> None:
    """``path`` without a suffix: both files."""
    write_document(path.with_name(f"{path.name}.svg"), drawn.svg)
    write_bytes(path.with_name(f"{path.name}.png"), drawn.png)


@contextmanager
def _common_style() -> Iterator[None]:
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        # Names in scripts that the measuring font lacks: the browser has a font for them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        yield


# The canvases write the files: Figure.savefig would draw each figure twice, the first time for the layout alone.
# Files name no date and no program, so that the same data give the same bytes.


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
    """A name as a figure can show it: on one line, short, without characters that XML forbids."""
    printable = "".join(each if each.isprintable() else " " for each in text).strip()
    short = printable if len(printable) <= most else f"{printable[: most - 1]}…"
    # matplotlib leaves labels with a leading underscore out of legends; a word joiner has no width
    return f"\u2060{short}" if short.startswith("_") else short
