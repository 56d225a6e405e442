"""Write the files of reports.

Names in them may contain bytes that are not valid text. These are written as escapes, which JSON can read.
"""

from __future__ import annotations

from pathlib import Path

from regnas.runtime.files import write_bytes


def write_document(path: Path, text: str) -> None:
    """Write a text file of a report."""
    write_bytes(path, encode_document(text))


def encode_document(text: str) -> bytes:
    """Encode a text as UTF-8, with escapes for characters that UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace")
