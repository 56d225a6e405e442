"""The files of predictions that a gallery is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from regnas.errors import ConfigurationError
from regnas.flips import Predictions, align, load_predictions


def read_models(paths: Sequence[Path]) -> tuple[Predictions, ...]:
    """All in one order of samples; a model is called as its file, or by the path where two files are called alike."""
    if len(set(paths)) < len(paths):
        raise ConfigurationError("a file of predictions is given twice: a gallery compares different models")
    stems = [path.stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    return align([replace(_read(path), model=name) for path, name in zip(paths, names, strict=True)])


def _read(path: Path) -> Predictions:
    return load_predictions(path)
