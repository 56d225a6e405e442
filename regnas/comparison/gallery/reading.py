"""Read the predictions of a gallery."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regnas.comparison.joining import model_names
from regnas.comparison.reading import number_classes, read_predictions
from regnas.errors import ConfigurationError
from regnas.flips import Predictions, align


def read_models(models: Sequence[Path | Predictions], classes: Sequence[str]) -> tuple[Predictions, ...]:
    """Read predictions and put them into one order of samples; files are named by the rule of ``compare``.

    ``classes`` are those of the data, in their order. Files that name the classes get these numbers.
    """
    paths = [each for each in models if isinstance(each, Path)]
    if len(set(paths)) < len(paths):
        raise ConfigurationError("prediction files of a gallery must differ, got one of them twice")
    names = dict(zip(paths, model_names(paths), strict=True))
    return align([each if isinstance(each, Predictions) else _read(each, names[each], classes) for each in models])


def _read(path: Path, name: str, classes: Sequence[str]) -> Predictions:
    return number_classes(read_predictions(path, keep_scores=True, model=name), path, classes)
