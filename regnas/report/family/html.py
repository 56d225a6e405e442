"""The report as one self-contained HTML file: no network, no script, no second file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regnas.report import tuning
from regnas.report.diagnostics import for_page
from regnas.report.family.contents import ReportContents
from regnas.report.family.gallery import Flip
from regnas.report.family.results import FamilyComparison
from regnas.report.family.tables import accuracy_difference, coverage, nfr_difference, top1_difference
from regnas.report.kit.formatting import p_value, percent, percent_interval, training_cost
from regnas.report.kit.pages import inline, page
from regnas.report.tuning import tuning_rows
from regnas.space import format_macs


def render(
    contents: ReportContents, comparison: FamilyComparison, figures: Mapping[str, str], flips: Sequence[Flip]
) -> str:
    """Return the page of the report.

    ``figures`` are SVG documents of our own plots by name. All other texts are escaped.
    """
    filters: dict[str, Callable[..., Any]] = {
        "percent": percent,
        "interval": percent_interval,
        "macs": format_macs,
        "p_value": p_value,
        "training_cost": training_cost,
        "accuracy_difference": accuracy_difference,
        "nfr_difference": nfr_difference,
        "top1_difference": top1_difference,
    }
    return page(
        "regnas.report.family",
        "report.html.j2",
        filters,
        comparison=comparison,
        coverage=coverage(comparison),
        tuning=tuning_rows(comparison.tuning),
        tuning_title=tuning.TITLE,
        tuning_explanation=tuning.EXPLANATION,
        tuning_header=tuning.HEADER,
        facts=contents.facts,
        figures={name: inline(document, name) for name, document in figures.items()},
        flips=flips,
        diagnostics=for_page(comparison.diagnostics),
    )
