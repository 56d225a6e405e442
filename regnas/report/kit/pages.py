"""Fill the templates of self-contained HTML pages: no network, no second file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from regnas.runtime.printable import without_controls

_TAG = re.compile(r"<[^<>]+>")
_IDENTIFIER = re.compile(r'(\sid="|url\(#|href="#)')


def page(package: str, template: str, filters: Mapping[str, Callable[..., Any]], **values: Any) -> str:
    """Fill a template of a package; it can use the style and the macros of all pages.

    Everything except our own markup is escaped. Control characters are replaced. A missing name is an error.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("regnas.report.kit")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return without_controls(environment.get_template(template).render(**values))


def inline(document: str, name: str) -> Markup:
    """Return an SVG document as an element of the page, with prefixed ids, because two figures may share ids.

    The document is safe as markup: matplotlib escapes its texts, so the pattern of a tag never matches in a text.
    """
    element = document[document.index("<svg") :].strip()
    return Markup(_TAG.sub(lambda tag: _IDENTIFIER.sub(rf"\g<1>{name}-", tag.group()), element))
