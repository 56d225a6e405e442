"""Accept predictions in all forms: paths, arrays, data frames or ``Predictions``."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.classes import clusters, encode
from regnas.comparison.files.arrays import ArrayColumns, flat_array, predicted_column
from regnas.comparison.files.columns import GROUP, ID, PREDICTED, TARGET, Column, PredictionFile
from regnas.comparison.joining import Given, Joined, Source, join, model_names
from regnas.comparison.reading import ReadPredictions, read_columns, read_predictions, usable_slices
from regnas.comparison.samples import Samples
from regnas.errors import ArtifactError, ConfigurationError
from regnas.flips import Predictions


def join_models(
    models: Any,
    target: Any = None,
    *,
    groups: Any = None,
    slices: Any = None,
    ids: Any = None,
    classes: Sequence[Any] | None = None,
) -> Joined:
    """Read and join models that are given in any of the forms that ``regnas.compare`` accepts."""
    sources = [_source(name, predictions, classes) for name, predictions in name_models(models).items()]
    given = Given(
        ids=None if ids is None else _ids(ids),
        target=None if target is None else flat_array(target, "target"),
        groups=None if groups is None else clusters(encode(flat_array(groups, "groups")), "groups"),
        slices={} if slices is None else _slices(slices),
    )
    return join(sources, given)


def name_models(models: Any) -> dict[str, Any]:
    """Return the models by name: the keys of a mapping, the stems of paths, or "model 1" and so on."""
    if isinstance(models, Mapping):
        wrong = [name for name in models if not isinstance(name, str)]
        if wrong:
            raise ConfigurationError(f"names of models must be text, got {wrong[0]!r}")
        return dict(models)
    if not isinstance(models, list | tuple):
        raise ConfigurationError(
            f"models must be a mapping from names to predictions, or a list of predictions, got {type(models).__name__}"
        )
    stems = iter(model_names([Path(each) for each in models if is_path(each)]))
    names = [
        next(stems) if is_path(each) else each.model if isinstance(each, Predictions) else f"model {place}"
        for place, each in enumerate(models, start=1)
    ]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigurationError(f'two models are called "{twice[0]}". Pass a mapping from names to predictions.')
    return dict(zip(names, models, strict=True))


def is_path(value: Any) -> bool:
    """Whether predictions are given as a path."""
    return isinstance(value, str | os.PathLike)


def _source(name: str, predictions: Any, classes: Sequence[Any] | None) -> Source:
    where = f'model "{name}"'

    def read(samples: Samples, known: Collection[str]) -> ReadPredictions:
        if is_path(predictions):
            return read_predictions(Path(predictions), model=name, without_slices=known, samples=samples)
        file = _columns(predictions, classes, where)
        if samples.target is None and list(file.columns) == [PREDICTED]:
            raise ConfigurationError(
                f"target must be given, because {where} is an array of predictions without targets"
            )
        return read_columns(file, where, name, without_slices=known, samples=samples)

    return Source(name, read)


def _columns(predictions: Any, classes: Sequence[Any] | None, where: str) -> PredictionFile:
    if isinstance(predictions, Predictions):
        held = {ID: predictions.ids, TARGET: predictions.targets, PREDICTED: predictions.predicted}
        return ArrayColumns(held if predictions.groups is None else held | {GROUP: predictions.groups})
    if isinstance(predictions, Mapping):
        return ArrayColumns({str(name): flat_array(each, f'{where}: "{name}"') for name, each in predictions.items()})
    if looks_like_frame(predictions):
        return _frame(predictions, where)
    return ArrayColumns({PREDICTED: predicted_column(predictions, classes, where)})


def looks_like_frame(values: Any) -> bool:
    """Whether values are a data frame, and not an array or a series with one value per sample."""
    kind = type(values)  # because a lazy frame of polars would look for its columns, and warn that this takes long
    return hasattr(kind, "columns") or hasattr(kind, "column_names")


def _frame(frame: Any, where: str) -> PredictionFile:
    from regnas.comparison.files.frames import FrameColumns  # here, because narwhals takes a while to import

    return FrameColumns(frame, where)


def _ids(values: Any) -> NDArray[Any]:
    array = flat_array(values, "ids")
    if array.dtype.kind not in "Uiu":
        raise ArtifactError(f"ids must be integers or text, got {array.dtype}")
    if len(np.unique(array)) < len(array):
        raise ArtifactError(f"ids must differ, got {len(array) - len(np.unique(array)):,} that repeat another")
    return array


def _slices(slices: Any) -> dict[str, NDArray[Any]]:
    columns: dict[str, Column | str]
    if looks_like_frame(slices):
        frame = _frame(slices, "slices")
        columns = dict(frame.read(frame.columns, None).columns)
    elif isinstance(slices, Mapping):
        columns = {str(name): flat_array(values, f'slices["{name}"]') for name, values in slices.items()}
    else:
        raise ConfigurationError(
            f"slices must be a mapping from names to values, or a data frame, got {type(slices).__name__}"
        )
    usable, left_out = usable_slices(columns)
    if left_out:
        name, reason = next(iter(left_out.items()))
        raise ArtifactError(f'slices["{name}"] cannot be used: {reason}')
    return usable
