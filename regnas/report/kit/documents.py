"""The files of reports.

Names in them may contain bytes that are not text. The report is written all the same, with escapes, which JSON reads.
"""

from __future__ import annotations

from pathlib import Path

from regnas.runtime.files import write_bytes


def write_document(path: Path, text: str) -> None:
    write_bytes(path, encode_document(text))


def encode_document(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
