"""The report as one HTML file that needs nothing else: no network, no script, no second file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regnas.rendering.formatting import p_value, percent, percent_interval, training_cost
from regnas.rendering.pages import inline, page
from regnas.report.contents import ReportContents
from regnas.report.diagnostics import for_page
from regnas.report.gallery import Flip
from regnas.report.tables import coverage, nfr_difference, top1_difference
from regnas.space import format_macs


def render(
    contents: ReportContents, comparison: Mapping[str, Any], figures: Mapping[str, str], flips: Sequence[Flip]
) -> str:
    """``figures`` are SVG documents of our own plots by name; everything else is escaped."""
    filters: dict[str, Callable[..., Any]] = {
        "percent": percent,
        "interval": percent_interval,
        "macs": format_macs,
        "p_value": p_value,
        "training_cost": training_cost,
        "nfr_difference": nfr_difference,
        "top1_difference": top1_difference,
    }
    return page(
        "regnas.report",
        "report.html.j2",
        filters,
        comparison=comparison,
        coverage=coverage(comparison),
        facts=contents.facts,
        figures={name: inline(document, name) for name, document in figures.items()},
        flips=flips,
        diagnostics=for_page(comparison.get("diagnostics")),
    )
