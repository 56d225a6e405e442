"""What the formats that are texts have in common."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

from regnas.comparison.files.columns import SIZE_LIMIT
from regnas.errors import ArtifactError

FIRST_BLOCK = 2**16  # bytes that are read to know the columns of a file
BLOCK = 2**20  # bytes that are read at once afterwards
SHOWN = 40  # characters of a value in a message

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def check_file_size(path: Path) -> None:
    """Refuse empty and very large files: a text takes about as much memory as it is long."""
    size = path.stat().st_size
    if size == 0:
        raise ArtifactError(f"{path} is empty")
    if size > SIZE_LIMIT:
        raise ArtifactError(f"{path} has {size:,} bytes, over the limit of {SIZE_LIMIT:,}: convert it to Parquet")


def open_text(path: Path) -> BinaryIO:
    """Open a file after its byte order mark, if it has one."""
    source = path.open("rb")
    if source.read(len(BYTE_ORDER_MARK)) != BYTE_ORDER_MARK:
        source.seek(0)
    return source


def show(value: Any) -> str:
    """Return a value as JSON, in one line that is not too long for a message."""
    written = json.dumps(value, ensure_ascii=False)
    return written if len(written) <= SHOWN else f"{written[:SHOWN]}..."
