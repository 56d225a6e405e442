"""Whether a file may be written: checked before the work, not after it."""

from __future__ import annotations

import os
from pathlib import Path

from regnas.errors import ConfigurationError, EnvironmentProblem


def check_output(path: Path, suffix: str, overwrite: bool) -> None:
    """Refuse a file of another kind, one that exists already, and a folder that cannot be written."""
    if path.suffix != suffix:
        raise ConfigurationError(f"out must end in {suffix}, got {path}")
    if path.is_dir():
        raise ConfigurationError(f"out must be a file, got the folder {path}")
    if path.exists() and not overwrite:
        raise ConfigurationError(f"{path} exists. Choose another file, or replace it with overwrite.")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise EnvironmentProblem(f"cannot write {path}: {above} must be a folder that you may write to")
