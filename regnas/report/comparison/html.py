"""A comparison as one self-contained HTML file: no network, no script, no second file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regnas.comparison.comparison import Comparison
from regnas.flips.closed_forms import LEVEL
from regnas.report.comparison.heat_map import nfr_heat_map
from regnas.report.comparison.tables import (
    breakdowns,
    detailed_pairs,
    headline,
    left_out,
    left_out_pairs,
    notes,
    pair_title,
    shown_pairs,
)
from regnas.report.kit.formatting import p_value, percent, percent_interval, signed_percent
from regnas.report.kit.pages import inline, page
from regnas.runtime.printable import printable

MOST_ROWS = 10
MOST_PAIRS = 100  # up to here, both directions of every pair are in the table


def html_text(comparison: Comparison) -> str:
    """Return the page of a comparison."""
    filters: dict[str, Callable[..., Any]] = {
        "percent": percent,
        "signed": signed_percent,
        "interval": percent_interval,
        "p_value": p_value,
        "number": lambda count: f"{count:,}",
        "printable": lambda value: printable(str(value)),
        "pair_title": pair_title,
        "breakdowns": breakdowns,
        "left_out": lambda breakdown: left_out(breakdown, MOST_ROWS),
    }
    pairs = comparison.pairs if len(comparison.pairs) <= MOST_PAIRS else shown_pairs(comparison)
    return page(
        "regnas.report.comparison",
        "compare.html.j2",
        filters,
        comparison=comparison,
        headline=headline(comparison),
        pairs=pairs,
        pairs_left_out=left_out_pairs(comparison, len(pairs)) if len(pairs) < len(comparison.pairs) else "",
        detailed=shown_pairs(comparison),
        successive=detailed_pairs(comparison),
        rows=MOST_ROWS,
        level=round(100 * LEVEL),
        notes=notes(comparison),
        figures={"heat_map": inline(nfr_heat_map(comparison), "heat_map")},
        facts={},
    )
