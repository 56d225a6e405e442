"""Rows of a result as a data frame of pandas, polars or pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

from regnas.errors import ConfigurationError, EnvironmentProblem

Library = Literal["pandas", "polars", "pyarrow"]

MAKERS = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}


def frame_of(rows: Sequence[Mapping[str, Any]], library: str) -> Any:
    """Return a frame with one row per mapping, and the keys of the first one as columns."""
    if library not in MAKERS:
        raise ConfigurationError(f'library must be "pandas", "polars" or "pyarrow", got {library!r}')
    try:
        module = import_module(library)
    except ImportError:
        others = ", ".join(f'library="{name}"' for name in MAKERS if name != library)
        raise EnvironmentProblem(
            f"to_frame needs {library}, which is not installed. Run: pip install {library} (or pass {others})"
        ) from None
    return getattr(module, MAKERS[library])({name: [row[name] for row in rows] for name in rows[0]})
