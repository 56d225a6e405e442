"""The report as one HTML file that needs nothing else: no network, no script, no second file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from regnas.report.contents import ReportContents
from regnas.report.formatting import p_value, percent, percent_interval, training_cost
from regnas.report.gallery import Flip
from regnas.report.tables import coverage, nfr_difference, top1_difference
from regnas.space import format_macs

_TAG = re.compile(r"<[^<>]+>")
_IDENTIFIER = re.compile(r'(\sid="|url\(#|href="#)')


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
        "report.html.j2",
        filters,
        comparison=comparison,
        coverage=coverage(comparison),
        facts=contents.facts,
        figures={name: inline(document, name) for name, document in figures.items()},
        flips=flips,
    )


def page(template: str, filters: Mapping[str, Callable[..., Any]], **values: Any) -> str:
    """A filled template; whatever is not markup of our own is escaped, and a name that is missing is an error."""
    environment = Environment(
        loader=PackageLoader("regnas.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment.get_template(template).render(**values)


def inline(document: str, name: str) -> Markup:
    """An SVG document as an element of the page, its ids prefixed: those of two figures would be the same.

    Markup, because matplotlib escapes the texts it writes; the pattern of a tag therefore never meets one of them.
    """
    element = document[document.index("<svg") :].strip()
    return Markup(_TAG.sub(lambda tag: _IDENTIFIER.sub(rf"\g<1>{name}-", tag.group()), element))
