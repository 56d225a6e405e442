"""Tables, plots and one HTML page of what a run has found."""

from __future__ import annotations

from pathlib import Path

from regnas.rendering.figures import picture, write_picture
from regnas.report.architecture_plot import architectures
from regnas.report.comparison import Comparison, compare
from regnas.report.contents import Method, ReportContents, SearchHistory
from regnas.report.gallery import worst_flips
from regnas.report.html import render
from regnas.report.plots import flip_heat_maps, pairs_error_against_flips, search_progress, top1_against_macs
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
        "top1_against_macs": picture(lambda: top1_against_macs(comparison)),
        "architectures": picture(lambda: architectures(contents)),
    }
    if len(contents.members) > 1:
        figures["error_against_flips"] = picture(lambda: pairs_error_against_flips(comparison))
        figures["flip_heat_maps"] = picture(lambda: flip_heat_maps(comparison))
    if contents.searches:
        figures["search_progress"] = picture(lambda: search_progress(contents.searches))
    documents = {name: drawn.svg for name, drawn in figures.items()}
    page = render(contents, comparison, documents, worst_flips(contents))

    write_json(folder / "flips.json", comparison)
    _write(folder / "flips.md", markdown(comparison))
    for name, drawn in figures.items():
        write_picture(folder / name, drawn)
    _write(folder / "index.html", page)
    return comparison


def _write(path: Path, text: str) -> None:
    # File names of samples may hold bytes that are no text; they must not cost us the report.
    write_bytes(path, text.encode("utf-8", "backslashreplace"))
