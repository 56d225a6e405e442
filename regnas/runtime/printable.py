"""Make foreign texts safe to print and write: names must not control a terminal or break a format.

Names of classes, files, models and slices may contain any characters. Four functions remove harmful ones:
``printable`` for a name or a line, ``without_controls`` for a whole document, ``json_escapes`` for a JSON text, and
``file_name`` for a path.
"""

from __future__ import annotations

import re
import unicodedata

TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # the direction of writing
REPLACEMENT = "\ufffd"


SURROGATES = "\ud800-\udfff"  # alone, they stand for bytes of file names that are not UTF-8


def _pattern(further: str = "", but: str = "") -> re.Pattern[str]:
    """Match control characters, noncharacters, line separators, and characters that change the writing direction."""
    found = [
        code
        for code in (*range(0xA0), 0x2028, 0x2029, *map(ord, TURNING), *range(0xFDD0, 0xFDF0), 0xFFFE, 0xFFFF)
        if code not in map(ord, but) and unicodedata.category(chr(code)) in ("Cc", "Cf", "Cn", "Zl", "Zp")
    ]
    return re.compile(f"[{''.join(map(re.escape, map(chr, found)))}{further}]")


_IN_LINES = _pattern(SURROGATES)
_IN_DOCUMENTS = _pattern(but="\n\t")
_IN_JSON = _pattern(SURROGATES, but="\n\t")


def printable(text: str) -> str:
    """Return a name on one line, without characters that control terminals, break XML or change the writing direction.

    Example:
        >>> printable("red\\x1b[31m") == "red\\ufffd[31m"
        True
    """
    return _IN_LINES.sub(REPLACEMENT, text)


def escaped(text: str) -> str:
    """Return a line in which the same characters are escapes, which show the content of a name.

    Example:
        >>> escaped("two\\nlines")
        'two\\\\nlines'
    """
    return _IN_LINES.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def without_controls(document: str) -> str:
    """Return a document of several lines without the same characters.

    Line ends and tabs stay. So do lone surrogates, which become escapes when the document is written.
    """
    return _IN_DOCUMENTS.sub(REPLACEMENT, document)


def json_escapes(text: str) -> str:
    """Return a JSON text of the same content in which the same characters are escapes.

    Example:
        >>> json_escapes('"\\u202e"')
        '"\\\\u202e"'
    """
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def file_name(text: str) -> str:
    """Return a text as the name of a file or a folder: letters, digits, ``_``, ``.`` and ``-``.

    Example:
        >>> file_name("naive: new a1b2c3, seed 0"), file_name("..")
        ('naive-new-a1b2c3-seed-0', '-')
    """
    return re.sub(r"[^\w.]+", "-", text).strip(".-") or "-"
