"""Write tables in Markdown; their texts may contain any characters."""

from __future__ import annotations

from collections.abc import Sequence

from regnas.runtime.printable import printable


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column is aligned left and whose other columns, which hold numbers, right."""
    rule = ["---", *(["---:"] * (len(header) - 1))]
    lines = [[plain(cell) for cell in header], rule, *([plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plain(text: str) -> str:
    """Escape a text, so that it cannot end a cell, line or heading, start a tag, or be a link or a picture."""
    escaped = printable(" ".join(text.split()))
    for mark in "\\|`*_#":
        escaped = escaped.replace(mark, f"\\{mark}")
    return escaped.replace("](", "]\\(").replace("&", "&amp;").replace("<", "&lt;")
