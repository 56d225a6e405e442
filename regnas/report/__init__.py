"""Tables, plots and one HTML page of what a run has found."""

from __future__ import annotations

from pathlib import Path

from regnas.rendering.figures import svg
from regnas.report.architecture_plot import architectures
from regnas.report.comparison import Comparison, compare
from regnas.report.contents import Method, ReportContents, SearchHistory
from regnas.report.gallery import worst_flips
from regnas.report.html import render
from regnas.report.plots import flip_heat_maps, search_progress, top1_against_macs
from regnas.report.tables import markdown, terminal_table
from regnas.report.update_report import write_update_report
from regnas.report.update_tables import update_markdown, update_terminal_table
from regnas.runtime.files import write_bytes, write_json

__all__ = [
    "Comparison",
    "Method",
    "ReportContents",
    "SearchHistory",
    "compare",
    "markdown",
    "terminal_table",
    "update_markdown",
    "update_terminal_table",
    "write_report",
    "write_update_report",
]


def write_report(contents: ReportContents, folder: Path) -> Comparison:
    """Write flips.json, flips.md, the figures and, last, index.html; the same contents give the same bytes."""
    comparison = compare(contents)
    figures = {
        "top1_against_macs": svg(lambda: top1_against_macs(comparison)),
        "architectures": svg(lambda: architectures(contents)),
    }
    if len(contents.members) > 1:
        figures["flip_heat_maps"] = svg(lambda: flip_heat_maps(comparison))
    if contents.searches:
        figures["search_progress"] = svg(lambda: search_progress(contents.searches))
    page = render(contents, comparison, figures, worst_flips(contents))

    write_json(folder / "flips.json", comparison)
    _write(folder / "flips.md", markdown(comparison))
    for name, document in figures.items():
        _write(folder / f"{name}.svg", document)
    _write(folder / "index.html", page)
    return comparison


def _write(path: Path, text: str) -> None:
    # File names of samples may hold bytes that are no text; they must not cost us the report.
    write_bytes(path, text.encode("utf-8", "backslashreplace"))
