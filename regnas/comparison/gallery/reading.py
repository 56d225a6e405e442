"""The files of predictions that a gallery is made of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regnas.comparison.reading import number_classes, read_predictions
from regnas.errors import ConfigurationError
from regnas.flips import Predictions, align


def read_models(paths: Sequence[Path], classes: Sequence[str]) -> tuple[Predictions, ...]:
    """All in one order of samples; a model is called as its file, or by the path where two files are called alike.

    ``classes`` are those of the data, in their order: files that name the classes get these numbers.
    """
    if len(set(paths)) < len(paths):
        raise ConfigurationError("a file of predictions is given twice: a gallery compares different models")
    stems = [path.stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    read = [read_predictions(path, keep_scores=True, model=name) for path, name in zip(paths, names, strict=True)]
    return align([number_classes(each, path, classes) for each, path in zip(read, paths, strict=True)])
