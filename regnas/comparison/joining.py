"""Several prediction files joined by sample id."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.reading import read_predictions, stem_of
from regnas.errors import ArtifactError, ConfigurationError
from regnas.flips import Predictions, align, shared_groups


@dataclass(frozen=True, eq=False)
class Joined:
    """What K models got right on the same N samples.

    correct: [K, N]
    targets: [N]
    classes: the names of the classes by number; None where the files number them
    groups: [N], the cluster of each sample; None where each is its own
    slices: text or integers [N] by the name of the column, from the first file that has it
    left_out: columns that are no slices, with the reason
    """

    models: tuple[str, ...]
    correct: NDArray[np.bool_]
    targets: NDArray[np.int64]
    classes: tuple[str, ...] | None
    groups: NDArray[np.int64] | None
    slices: Mapping[str, NDArray[Any]]
    left_out: Mapping[str, str]

    @property
    def samples(self) -> int:
        return len(self.targets)


def join_files(paths: Sequence[Path]) -> Joined:
    """Read the files one after another, keeping of each but the first no more than what it got right."""
    if len(paths) < 2:
        raise ConfigurationError(f"a comparison needs at least two prediction files, got {len(paths)}")
    names = model_names(paths)
    leader = read_predictions(paths[0], model=names[0])
    first, classes = leader.predictions, leader.classes
    correct = np.empty((len(paths), len(first)), dtype=np.bool_)
    correct[0] = first.correct
    slices, left_out = dict(leader.slices), dict(leader.left_out)
    for place, (path, name) in enumerate(zip(paths[1:], names[1:], strict=True), start=1):
        read = read_predictions(path, model=name, without_slices={*slices, *left_out})
        first, other, classes = _with_common_classes(first, read.predictions, classes, read.classes)
        first, other = with_common_ids(first, other)
        aligned = align([first, other])
        correct[place] = aligned[1].correct
        first = first.changed(groups=shared_groups(aligned))
        if read.slices:
            numbered = other.answered_by(name, np.arange(len(other)))
            position = align([first, numbered])[1].predicted  # [N], where the file keeps the n-th sample of the first
            slices |= {column: values[position] for column, values in read.slices.items()}
        left_out |= read.left_out
    return Joined(names, correct, first.targets, classes, first.groups, slices, left_out)


def model_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """The stems of the files; of those that are alike as much of their folders as tells them apart."""
    whole = [path.absolute().with_suffix("") for path in paths]
    for place, path in enumerate(whole):
        if path in whole[:place]:
            other = paths[whole.index(path)]
            raise ConfigurationError(
                f'{other} and {paths[place]} would both be called "{stem_of(paths[place])}": give each model a file of '
                "its own name"
            )
    return tuple(_name(path, [each for each in whole if each.name == path.name]) for path in whole)


def _name(path: Path, alike: Sequence[Path]) -> str:
    depth = 1
    while len({each.parts[-depth:] for each in alike}) < len(alike):
        depth += 1
    return os.fsencode("/".join(path.parts[-depth:])).decode("utf-8", "replace")


def _with_common_classes(
    first: Predictions, other: Predictions, classes: tuple[str, ...] | None, other_classes: tuple[str, ...] | None
) -> tuple[Predictions, Predictions, tuple[str, ...] | None]:
    """Both numbered by one list of classes: the names of the first, then those that only the other has."""
    if classes is None and other_classes is None:
        return first, other, None
    named, numbered = (other, first) if classes is None else (first, other)
    if classes is None or other_classes is None:
        held = {str(each) for each in np.unique(numbered.targets).tolist()}
        if not held & set(classes or other_classes or ()):
            raise ArtifactError(
                f'"{numbered.model}" numbers the classes ({_examples(sorted(held))}) and "{named.model}" names them '
                f"({_examples(classes or other_classes or ())}): write them in one way"
            )
    first, classes = (first, classes) if classes is not None else _written_out(first)
    other, other_classes = (other, other_classes) if other_classes is not None else _written_out(other)
    union = (*classes, *sorted(set(other_classes) - set(classes)))
    places = {name: number for number, name in enumerate(union)}
    number_of = np.array([places[name] for name in other_classes])
    return first, other.changed(targets=number_of[other.targets], predicted=number_of[other.predicted]), union


def _written_out(predictions: Predictions) -> tuple[Predictions, tuple[str, ...]]:
    """Numbers taken for names: in a file without types, classes called 0, 1 and so on look like numbers."""
    values = np.union1d(predictions.targets, predictions.predicted)
    targets, predicted = (np.searchsorted(values, each) for each in (predictions.targets, predictions.predicted))
    return predictions.changed(targets=targets, predicted=predicted), tuple(str(each) for each in values.tolist())


def with_common_ids(first: Predictions, other: Predictions) -> tuple[Predictions, Predictions]:
    """Integers written out where the other has texts: CSV cannot tell whether an id is one or the other."""
    if first.ids.dtype.kind == other.ids.dtype.kind:
        return first, other
    first, other = (replace(each, ids=each.ids.astype(np.str_)) for each in (first, other))
    return first, other


def _examples(names: Sequence[str]) -> str:
    return ", ".join(names[:3])
