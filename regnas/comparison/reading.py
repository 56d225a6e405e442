"""Read the predictions of a model from a file of any format, from a data frame, or from arrays.

The columns are ``id``, ``target`` and ``predicted``. Scores (``logits`` or ``probabilities``) can replace the last: the
class with the highest score is predicted. ``group`` is the cluster of a sample. Every other column of texts or integers
is a slice.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.classes import clusters, complete, encode, merge, numbers
from regnas.comparison.files.columns import (
    GROUP,
    ID,
    MOST_VALUES,
    NOT_SLICES,
    PREDICTED,
    SIZE_LIMIT,
    TARGET,
    Coded,
    Column,
    PredictionFile,
    too_many,
)
from regnas.comparison.files.readers import READERS
from regnas.comparison.samples import UNKNOWN, Samples, length
from regnas.components.registry import nearest
from regnas.errors import ArtifactError
from regnas.flips import Predictions

SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, eq=False)
class ReadPredictions:
    """The content of one file, frame or array.

    classes: the names of the classes by number; None if the classes are numbers
    slices: text or integers [N] by the name of the column
    left_out: columns that are not used as slices, with the reason
    named: whether the samples have ids of their own; otherwise they are known by their row
    """

    predictions: Predictions
    classes: tuple[str, ...] | None
    slices: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    named: bool = True


def read_predictions(
    path: Path,
    keep_scores: bool = False,
    *,
    model: str | None = None,
    without_slices: Collection[str] = (),
    samples: Samples = UNKNOWN,
) -> ReadPredictions:
    """Read a prediction file: only the columns that are needed, and scores only if there is no predicted class.

    Args:
        path: The file.
        keep_scores: Read the scores in any case, and keep them.
        model: The name of the model; by default the stem of the file.
        without_slices: Columns that another file has provided already.
        samples: The ids and targets that are known from elsewhere.

    Returns:
        The predictions with their slices.
    """
    called = model if model is not None else stem_of(path)
    needs_ids = samples.naming != "given"
    return read_columns(_open(path), str(path), called, keep_scores, without_slices, samples, needs_ids)


def read_columns(
    file: PredictionFile,
    where: str,
    model: str,
    keep_scores: bool = False,
    without_slices: Collection[str] = (),
    samples: Samples = UNKNOWN,
    needs_ids: bool = False,
) -> ReadPredictions:
    """Read and check the predictions of an opened file, or of anything else that has columns.

    Args:
        file: The columns.
        where: The start of every error message, such as the path.
        model: The name of the model.
        keep_scores: Read the scores in any case, and keep them.
        without_slices: Columns that another file has provided already.
        samples: The ids and targets that are known from elsewhere.
        needs_ids: Refuse columns without ids; otherwise, samples without ids are known by their row.

    Returns:
        The predictions with their slices.
    """
    scores = _scores(file, keep_scores)
    _check_columns(where, file, [ID] * needs_ids + [TARGET] * (samples.target is None))
    slices = [name for name in file.columns if name not in NOT_SLICES and name not in without_slices]
    kept = [name for name in (ID, TARGET, PREDICTED, GROUP) if name in file.columns]
    content = file.read([*kept, *slices], scores)
    read = {name: column for name, column in content.columns.items() if not isinstance(column, str)}
    own_ids = read.pop(ID, None)
    assert not isinstance(own_ids, Coded)  # by every format
    counted = content.scores if content.scores is not None else read[PREDICTED]
    ids = samples.name_rows(own_ids, length(counted), where)
    for name, column in read.items():
        if length(column) != len(ids):
            raise ArtifactError(
                f'{where}: "{name}" must have {len(ids):,} values, one per sample, got {length(column):,}'
            )
    logits = None if content.scores is None else _logits(content.scores, scores, len(ids), where)
    target = samples.target_of(ids, read.get(TARGET), where)
    targets, predicted, classes = _classes(encode(target), read.get(PREDICTED), logits, where)
    groups = clusters(encode(read[GROUP]), f'{where}: "{GROUP}"') if GROUP in read else None
    try:
        predictions = Predictions(model, ids, targets, predicted, logits if keep_scores else None, groups)
    except ArtifactError as error:
        raise ArtifactError(f"{where}: {error}") from None
    usable, left_out = usable_slices({name: content.columns[name] for name in slices})
    return ReadPredictions(predictions, classes, usable, left_out, named=own_ids is not None)


def number_classes(read: ReadPredictions, path: Path, classes: Sequence[str]) -> Predictions:
    """Number the predictions by these classes if the file names its classes.

    Scores are then dropped, because the names do not say which column of scores belongs to which class.
    """
    predictions = read.predictions
    if read.classes is None:
        return predictions
    place = {name: number for number, name in enumerate(classes)}
    strangers = [name for name in read.classes if name not in place]
    if strangers:
        raise ArtifactError(
            f"{path} must have the classes of the data, got {len(strangers):,} other ones, such as "
            f"{', '.join(repr(name) for name in strangers[:3])}"
        )
    numbers = np.array([place[name] for name in read.classes], dtype=np.int64)
    return replace(
        predictions,
        targets=numbers[predictions.targets],
        predicted=numbers[predictions.predicted],
        logits=None,
    )


def stem_of(path: Path) -> str:
    """Return the name of the file without its suffix, as text that can be written anywhere."""
    return os.fsencode(path.stem).decode("utf-8", "replace")


def _open(path: Path) -> PredictionFile:
    kind = path.suffix.lower().removeprefix(".")
    if kind not in READERS:
        found = f'the suffix "{path.suffix}"' if path.suffix else "no suffix"
        known = [f".{suffix}" for suffix in READERS]
        raise ArtifactError(f"{path} must have the suffix {_listed(known)}, got {found}")
    if not path.exists():
        raise ArtifactError(f"{path} is missing")
    if not path.is_file():
        raise ArtifactError(f"{path} must be a file, got something else. Name the prediction files themselves.")
    return READERS[kind](path)


def _scores(file: PredictionFile, keep: bool) -> str | None:
    """Return which scores to read, or None if they are not needed."""
    if not file.scores or (PREDICTED in file.columns and not keep):
        return None
    return file.scores[0]


def _check_columns(where: str, file: PredictionFile, needed: Sequence[str]) -> None:
    held = [*file.columns, *file.scores]
    missing = [name for name in needed if name not in file.columns]
    if PREDICTED not in file.columns and not file.scores:
        missing.append(PREDICTED)
    if missing:
        other = [name for name in held if name not in NOT_SLICES]
        hint = next((hint for name in missing if (hint := nearest(name, other))), "")
        lacking = _listed(missing, "and") + (" (or logits, or probabilities)" if PREDICTED in missing else "")
        raise ArtifactError(f"{where} lacks {lacking}; it holds {', '.join(held) or 'nothing'}{hint}")


def _logits(scores: NDArray[Any], kind: str | None, samples: int, where: str) -> NDArray[np.float32]:
    """Convert scores [N, C] to logits; of probabilities, take the logarithm, whose softmax they are."""
    if scores.shape[0] != samples or scores.shape[1] == 0:
        raise ArtifactError(f'{where}: "{kind}" has shape {list(scores.shape)}, expected [{samples}, C]')
    with np.errstate(over="ignore"):  # an overflow becomes infinite and is refused below
        values = scores.astype(np.float32, copy=False)
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise ArtifactError(
            f'{where}: "{kind}" must be finite, got other values in {len(bad):,} rows, such as row {bad[0] + 1:,}'
        )
    if kind == "logits":
        return values
    if values.min() < 0 or values.max() > 1.001:
        raise ArtifactError(
            f'{where}: "{kind}" must be between 0 and 1, got {values.min():g} to {values.max():g}. '
            "If these are logits, rename the column to logits."
        )
    return np.log(np.maximum(values, SMALLEST))


def _classes(
    target: Column, answer: Column | None, logits: NDArray[np.float32] | None, where: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...] | None]:
    """Convert targets and predicted classes to numbers; also return the names of the classes, if any."""
    at_target, at_answer = f'{where}: "{TARGET}"', f'{where}: "{PREDICTED}"'
    whole = numbers(target, at_target)
    if answer is None:
        assert logits is not None  # _check_columns has checked it
        if whole is None:
            raise ArtifactError(
                f'{where} names its classes and lacks "{PREDICTED}", so the class of each column of scores is unknown. '
                f'Add "{PREDICTED}", or number the classes by column.'
            )
        return whole, logits.argmax(axis=1), None
    answer = encode(answer)
    whole_answer = numbers(answer, at_answer)
    if whole is not None and whole_answer is not None:
        return whole, whole_answer, None
    if not (isinstance(target, Coded) and isinstance(answer, Coded)):
        raise ArtifactError(
            f'{where}: "{TARGET}" and "{PREDICTED}" must both be integers or both be names, got one of each'
        )
    return merge(complete(target, at_target), complete(answer, at_answer))


def usable_slices(columns: Mapping[str, Column | str]) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Return the slices by name and, for every other column, the reason why it is not a slice."""
    usable: dict[str, NDArray[Any]] = {}
    left_out: dict[str, str] = {}
    for name, given in columns.items():
        column = given if isinstance(given, str) else encode(given)
        if isinstance(column, str):
            left_out[name] = column
        elif isinstance(column, Coded):
            if len(column.values) > MOST_VALUES:
                left_out[name] = too_many(len(column.values))
            elif len(column.codes) * column.values.dtype.itemsize > SIZE_LIMIT:
                left_out[name] = "its texts are too long"
            else:
                usable[name] = column.values[column.codes]
        elif column.dtype.kind == "f":
            left_out[name] = "it holds floating point numbers"
        elif (values := len(np.unique(column))) > MOST_VALUES:
            left_out[name] = too_many(values)
        else:
            usable[name] = np.where(column, "true", "false") if column.dtype.kind == "b" else column.astype(np.int64)
    return usable, left_out


def _listed(words: Collection[str], last: str = "or") -> str:
    *most, final = words
    return f"{', '.join(most)} {last} {final}" if most else final
