"""The common part of formats that are texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

from regnas.comparison.files.columns import SIZE_LIMIT
from regnas.errors import ArtifactError

FIRST_BLOCK = 2**16  # bytes that are read to find the columns of a file
BLOCK = 2**20  # bytes that are then read at once
SHOWN = 40  # characters of a value in a message

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def check_file_size(path: Path) -> None:
    """Refuse empty and very large files, because a text takes about as much memory as its file has bytes."""
    size = path.stat().st_size
    if size == 0:
        raise ArtifactError(f"{path} is empty")
    if size > SIZE_LIMIT:
        raise ArtifactError(f"{path} must have at most {SIZE_LIMIT:,} bytes, got {size:,}. Convert it to Parquet.")


def open_text(path: Path) -> BinaryIO:
    """Open a file after its byte order mark, if it has one."""
    source = path.open("rb")
    if source.read(len(BYTE_ORDER_MARK)) != BYTE_ORDER_MARK:
        source.seek(0)
    return source


def show(value: Any) -> str:
    """Return a value as JSON in one line, shortened for a message."""
    written = json.dumps(value, ensure_ascii=False)
    return written if len(written) <= SHOWN else f"{written[:SHOWN]}..."
