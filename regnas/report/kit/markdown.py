"""Tables in Markdown from texts that may hold anything."""

from __future__ import annotations

from collections.abc import Sequence

from regnas.runtime.printable import printable


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align the first column left and the others, which hold numbers, right."""
    rule = ["---", *(["---:"] * (len(header) - 1))]
    lines = [[plain(cell) for cell in header], rule, *([plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plain(text: str) -> str:
    """Text that cannot end a cell, a line or a heading, nor start a tag, nor be a link or a picture."""
    escaped = printable(" ".join(text.split()))
    for mark in "\\|`*_#":
        escaped = escaped.replace(mark, f"\\{mark}")
    return escaped.replace("](", "]\\(").replace("&", "&amp;").replace("<", "&lt;")
