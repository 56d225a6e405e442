"""Where regnas keeps what can be made or downloaded again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/regnas``, by default ``~/.cache/regnas``; as the standard says, only absolute paths count."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path("~/.cache").expanduser()) / "regnas"  # noqa: PTH117
