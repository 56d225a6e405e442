"""Predictions of any model from a file of any of the formats.

A file has the columns ``id``, ``target`` and ``predicted``, or instead of the last scores (``logits``,
``probabilities``), of which the highest is the answer. ``group`` is the cluster of a sample; every further column of
texts or integers is a slice.
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
from regnas.components.registry import nearest
from regnas.errors import ArtifactError
from regnas.flips import Predictions

SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, eq=False)
class ReadPredictions:
    """What one file says.

    classes: the names of the classes by number; None where the file numbers them itself
    slices: text or integers [N] by the name of the column
    left_out: columns that are no slices, with the reason
    """

    predictions: Predictions
    classes: tuple[str, ...] | None
    slices: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)


def read_predictions(
    path: Path, keep_scores: bool = False, *, model: str | None = None, without_slices: Collection[str] = ()
) -> ReadPredictions:
    """Read a prediction file; only the columns that are needed, and scores only to keep them or to find the answers.

    model: what to call it; by default the stem of the file
    without_slices: columns that another file has given already
    """
    file = _open(path)
    scores = _scores(file, keep_scores)
    _check_columns(path, file)
    slices = [name for name in file.columns if name not in NOT_SLICES and name not in without_slices]
    kept = [name for name in (ID, TARGET, PREDICTED, GROUP) if name in file.columns]
    content = file.read([*kept, *slices], scores)
    read = {name: column for name, column in content.columns.items() if not isinstance(column, str)}
    ids = read[ID]
    assert not isinstance(ids, Coded)  # by every format
    for name, column in read.items():
        length = len(column.codes if isinstance(column, Coded) else column)
        if length != len(ids):
            raise ArtifactError(f'{path}: "{name}" has {length:,} values for {len(ids):,} ids')
    logits = None if content.scores is None else _logits(content.scores, scores, len(ids), path)
    targets, predicted, classes = _classes(encode(read[TARGET]), read.get(PREDICTED), logits, path)
    groups = clusters(encode(read[GROUP]), f'{path}: "{GROUP}"') if GROUP in read else None
    called = model if model is not None else stem_of(path)
    try:
        predictions = Predictions(called, ids, targets, predicted, logits if keep_scores else None, groups)
    except ArtifactError as error:
        raise ArtifactError(f"{path}: {error}") from None
    usable, left_out = _slices({name: content.columns[name] for name in slices})
    return ReadPredictions(predictions, classes, usable, left_out)


def number_classes(read: ReadPredictions, path: Path, classes: Sequence[str]) -> Predictions:
    """The predictions by the numbers of these classes, if the file names its classes.

    Scores are dropped then: which of their columns is which class is not known from names alone.
    """
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
        logits=None,
    )


def stem_of(path: Path) -> str:
    """The file's name without its suffix, as text that can be written anywhere."""
    return os.fsencode(path.stem).decode("utf-8", "replace")


def _open(path: Path) -> PredictionFile:
    kind = path.suffix.lower().removeprefix(".")
    if kind not in READERS:
        found = f'the suffix "{path.suffix}"' if path.suffix else "no suffix"
        known = [f".{suffix}" for suffix in READERS]
        raise ArtifactError(f"{path} has {found}: prediction files are {_listed(known)}")
    if not path.exists():
        raise ArtifactError(f"{path} is missing")
    if not path.is_file():
        raise ArtifactError(f"{path} is not a file: name the prediction files themselves")
    return READERS[kind](path)


def _scores(file: PredictionFile, keep: bool) -> str | None:
    """Which scores to read: none where nothing needs them."""
    if not file.scores or (PREDICTED in file.columns and not keep):
        return None
    return file.scores[0]


def _check_columns(path: Path, file: PredictionFile) -> None:
    held = [*file.columns, *file.scores]
    missing = [name for name in (ID, TARGET) if name not in file.columns]
    if PREDICTED not in file.columns and not file.scores:
        missing.append(PREDICTED)
    if missing:
        other = [name for name in held if name not in NOT_SLICES]
        hint = next((hint for name in missing if (hint := nearest(name, other))), "")
        lacking = _listed(missing, "and") + (" (or logits, or probabilities)" if PREDICTED in missing else "")
        raise ArtifactError(f"{path} lacks {lacking}; it holds {', '.join(held) or 'nothing'}{hint}")


def _logits(scores: NDArray[Any], kind: str | None, samples: int, path: Path) -> NDArray[np.float32]:
    """Scores [N, C] as logits: of probabilities their logarithm, so that softmax gives them back."""
    if scores.shape[0] != samples or scores.shape[1] == 0:
        raise ArtifactError(f'{path}: "{kind}" has shape {list(scores.shape)}, expected [{samples}, C]')
    with np.errstate(over="ignore"):  # what overflows becomes infinite and is refused just below
        values = scores.astype(np.float32, copy=False)
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise ArtifactError(
            f'{path}: "{kind}" is not finite for {len(bad):,} samples, such as that of row {bad[0] + 1:,}'
        )
    if kind == "logits":
        return values
    if values.min() < 0 or values.max() > 1.001:
        raise ArtifactError(
            f'{path}: "{kind}" goes from {values.min():g} to {values.max():g}, not from 0 to 1; call it logits if it is'
        )
    return np.log(np.maximum(values, SMALLEST))


def _classes(
    target: Column, answer: Column | None, logits: NDArray[np.float32] | None, path: Path
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...] | None]:
    """Targets and answers as numbers, and the names of the classes where the file has names."""
    at_target, at_answer = f'{path}: "{TARGET}"', f'{path}: "{PREDICTED}"'
    whole = numbers(target, at_target)
    if answer is None:
        assert logits is not None  # _check_columns has seen to it
        if whole is None:
            raise ArtifactError(
                f'{path} names its classes and lacks "{PREDICTED}": which column of scores is which class is unknown; '
                f'add "{PREDICTED}", or number the classes by column'
            )
        return whole, logits.argmax(axis=1), None
    answer = encode(answer)
    whole_answer = numbers(answer, at_answer)
    if whole is not None and whole_answer is not None:
        return whole, whole_answer, None
    if not (isinstance(target, Coded) and isinstance(answer, Coded)):
        raise ArtifactError(
            f'{path}: "{TARGET}" and "{PREDICTED}" differ in kind, integers and names: write both in one way'
        )
    return merge(complete(target, at_target), complete(answer, at_answer))


def _slices(columns: Mapping[str, Column | str]) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Arrays by name, and the reasons for what is left out."""
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
