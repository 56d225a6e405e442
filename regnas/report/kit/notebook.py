"""Compact HTML tables for notebooks, without style of their own, with every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape as escape_markup

from regnas.runtime.printable import printable


def html_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], below: str = "") -> str:
    """Return a table whose first column names the rows, with a title above and a note below."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    note = f"<p>{escape(below)}</p>" if below else ""
    return (
        f"<div><p><strong>{escape(title)}</strong></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}</div>"
    )


def escape(text: str) -> str:
    """Escape a text for HTML."""
    return escape_markup(printable(text))
