"""Write the report of a family: tables, plots and one HTML page."""

from __future__ import annotations

from pathlib import Path

from regnas.report.diagnostics import FlipDiagnostics, diagnostics_markdown
from regnas.report.diagnostics_plots import first_in_detail, methods_side_by_side
from regnas.report.family.architecture_plot import architectures
from regnas.report.family.comparison import compare
from regnas.report.family.contents import ReportContents
from regnas.report.family.gallery import worst_flips
from regnas.report.family.html import render
from regnas.report.family.plots import flip_heat_maps, pairs_error_against_flips, search_progress, top1_against_macs
from regnas.report.family.results import FamilyComparison
from regnas.report.family.tables import markdown
from regnas.report.kit.documents import write_document
from regnas.report.kit.figures import Picture, picture, write_picture
from regnas.report.tuning import chosen_toml


def write_report(contents: ReportContents, folder: Path) -> FamilyComparison:
    """Write flips.json, flips.md, the figures and, last, index.html; the same contents give the same bytes."""
    comparison = compare(contents)
    diagnostics = comparison.diagnostics
    figures = {
        "top1_against_macs": picture(lambda: top1_against_macs(comparison)),
        "architectures": picture(lambda: architectures(contents)),
    }
    if len(contents.members) > 1:
        figures["error_against_flips"] = picture(lambda: pairs_error_against_flips(comparison))
        figures["flip_heat_maps"] = picture(lambda: flip_heat_maps(comparison))
    if contents.searches:
        figures["search_progress"] = picture(lambda: search_progress(contents.searches))
    if diagnostics is not None:
        figures |= _diagnostic_figures(diagnostics)
    documents = {name: drawn.svg for name, drawn in figures.items()}
    page = render(contents, comparison, documents, worst_flips(contents))

    write_document(folder / "flips.json", comparison.to_json() + "\n")
    write_document(folder / "flips.md", markdown(comparison) + diagnostics_markdown(diagnostics))
    if comparison.tuning:
        write_document(folder / "chosen.toml", chosen_toml(comparison.tuning))
    for name, drawn in figures.items():
        write_picture(folder / name, drawn)
    write_document(folder / "index.html", page)
    return comparison


def _diagnostic_figures(diagnostics: FlipDiagnostics) -> dict[str, Picture]:
    figures = {"flip_diagnostics": picture(lambda: first_in_detail(diagnostics))}
    if len(diagnostics.methods) > 1:
        figures["diagnostics_by_method"] = picture(lambda: methods_side_by_side(diagnostics))
    return figures
