"""Pages of HTML that need nothing else: no network, no second file."""

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
    """A filled template of a package (with the style and the macros of all pages at hand).

    Whatever is not markup of our own is escaped. Control characters are replaced. A name that is missing is an error.
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
    """An SVG document as an element of the page, its ids prefixed: those of two figures would be the same.

    Markup, because matplotlib escapes the texts it writes; the pattern of a tag therefore never meets one of them.
    """
    element = document[document.index("<svg") :].strip()
    return Markup(_TAG.sub(lambda tag: _IDENTIFIER.sub(rf"\g<1>{name}-", tag.group()), element))
