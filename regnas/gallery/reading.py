"""The files of predictions that a gallery is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from regnas.comparing.reading import ReadPredictions, read_predictions
from regnas.errors import ArtifactError, ConfigurationError
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
    return align([_numbered(each, path, classes) for each, path in zip(read, paths, strict=True)])


def _numbered(read: ReadPredictions, path: Path, classes: Sequence[str]) -> Predictions:
    predictions = read.predictions
    if read.classes is None:
        return predictions
    place = {name: number for number, name in enumerate(classes)}
    strangers = [name for name in read.classes if name not in place]
    if strangers:
        raise ArtifactError(
            f"{path} names {len(strangers):,} classes that the data do not have, such as "
            f"{', '.join(repr(name) for name in strangers[:3])}"
        )
    numbers = np.array([place[name] for name in read.classes], dtype=np.int64)
    return replace(
        predictions,
        targets=numbers[predictions.targets],
        predicted=numbers[predictions.predicted],
        logits=None,  # which of their columns is which class is not known from names alone
    )
