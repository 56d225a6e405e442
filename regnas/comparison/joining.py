"""Join the predictions of several models by sample id."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.files.columns import Column
from regnas.comparison.reading import ReadPredictions, stem_of
from regnas.comparison.samples import Samples, locate
from regnas.errors import ArtifactError, ConfigurationError
from regnas.flips import Predictions, align, shared_groups


@dataclass(frozen=True, eq=False)
class Joined:
    """Which of the same N samples each of K models predicts correctly.

    correct: [K, N]
    targets: [N]
    classes: the names of the classes by number; None if the classes are numbers
    groups: [N], the cluster of each sample; None if each sample is its own cluster
    slices: text or integers [N] by the name of the column, from the first model that has it
    left_out: columns that are not used as slices, with the reason
    ids: [N]
    """

    models: tuple[str, ...]
    correct: NDArray[np.bool_]
    targets: NDArray[np.int64]
    classes: tuple[str, ...] | None
    groups: NDArray[np.int64] | None
    slices: Mapping[str, NDArray[Any]]
    left_out: Mapping[str, str]
    ids: NDArray[Any]

    @property
    def samples(self) -> int:
        return len(self.targets)


@dataclass(frozen=True)
class Source:
    """A model whose predictions are not read yet.

    read: gets the known facts about the samples, and the slices that are known already
    """

    name: str
    read: Callable[[Samples, Collection[str]], ReadPredictions]


@dataclass(frozen=True, eq=False)
class Given:
    """Facts that the caller gives about the samples, in the order of ``ids``, or of the first model without ``ids``."""

    ids: NDArray[Any] | None = None
    target: Column | None = None
    groups: NDArray[np.int64] | None = None
    slices: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def in_order(self, samples: Samples, ids: NDArray[Any]) -> Given:
        """Return the clusters and slices in the order of the first model."""
        assert samples.ids is not None  # the first model is read
        for name, values in (
            ("groups", self.groups),
            *((f'slices["{name}"]', each) for name, each in self.slices.items()),
        ):
            if values is not None and len(values) != len(samples.ids):
                raise ArtifactError(
                    f"{name} must have {len(samples.ids):,} values, one per sample, got {len(values):,}"
                )
        position = locate(samples.ids, ids, "the first model")
        groups = None if self.groups is None else self.groups[position]
        return replace(self, groups=groups, slices={name: values[position] for name, values in self.slices.items()})


NOTHING = Given()


def join(sources: Sequence[Source], given: Given = NOTHING) -> Joined:
    """Read the models one after another; of all but the first, keep only which samples they predict correctly."""
    if len(sources) < 2:
        raise ConfigurationError(f"a comparison must have at least two models, got {len(sources)}")
    samples = Samples(given.ids, given.target, "unknown" if given.ids is None else "given")
    leader = sources[0].read(samples, given.slices)
    first, classes = leader.predictions, leader.classes
    samples = samples.after(first.ids, leader.named)
    given = given.in_order(samples, first.ids)
    if given.groups is not None:
        first = first.changed(groups=given.groups)
    correct = np.empty((len(sources), len(first)), dtype=np.bool_)
    correct[0] = first.correct
    slices, left_out = {**given.slices, **leader.slices}, dict(leader.left_out)
    for place, source in enumerate(sources[1:], start=1):
        read = source.read(samples, {*slices, *left_out})
        own = read.predictions if given.groups is None else read.predictions.changed(groups=None)
        first, other, classes = _with_common_classes(first, own, classes, read.classes)
        first, other = with_common_ids(first, other)
        aligned = align([first, other])
        correct[place] = aligned[1].correct
        first = first.changed(groups=shared_groups(aligned))
        if read.slices:
            numbered = other.answered_by(source.name, np.arange(len(other)))
            position = align([first, numbered])[1].predicted  # [N], the row of the n-th sample of the first model
            slices |= {column: values[position] for column, values in read.slices.items()}
        left_out |= read.left_out
    names = tuple(source.name for source in sources)
    return Joined(names, correct, first.targets, classes, first.groups, slices, left_out, first.ids)


def model_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """Name each model by the stem of its file, with as many folders before it as equal stems need."""
    whole = [path.absolute().with_suffix("") for path in paths]
    for place, path in enumerate(whole):
        if path in whole[:place]:
            other = paths[whole.index(path)]
            raise ConfigurationError(
                f'names of models must differ, got "{stem_of(paths[place])}" for {other} and {paths[place]}. Rename '
                "one of the files."
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
    """Number both by one list of classes: the names of the first, then those that only the other has."""
    if classes is None and other_classes is None:
        return first, other, None
    named, numbered = (other, first) if classes is None else (first, other)
    if classes is None or other_classes is None:
        held = {str(each) for each in np.unique(numbered.targets).tolist()}
        if not held & set(classes or other_classes or ()):
            raise ArtifactError(
                f"models must write the classes in the same way, got numbers from "
                f'"{numbered.model}" ({_examples(sorted(held))}) and names from "{named.model}" '
                f"({_examples(classes or other_classes or ())})"
            )
    first, classes = (first, classes) if classes is not None else _written_out(first)
    other, other_classes = (other, other_classes) if other_classes is not None else _written_out(other)
    union = (*classes, *sorted(set(other_classes) - set(classes)))
    places = {name: number for number, name in enumerate(union)}
    number_of = np.array([places[name] for name in other_classes])
    return first, other.changed(targets=number_of[other.targets], predicted=number_of[other.predicted]), union


def _written_out(predictions: Predictions) -> tuple[Predictions, tuple[str, ...]]:
    """Use numbers as names: in a file without types, classes called 0, 1 and so on look like numbers."""
    values = np.union1d(predictions.targets, predictions.predicted)
    targets, predicted = (np.searchsorted(values, each) for each in (predictions.targets, predictions.predicted))
    return predictions.changed(targets=targets, predicted=predicted), tuple(str(each) for each in values.tolist())


def with_common_ids(first: Predictions, other: Predictions) -> tuple[Predictions, Predictions]:
    """Write integer ids as text if the other ids are text, because CSV does not distinguish the two."""
    if first.ids.dtype.kind == other.ids.dtype.kind:
        return first, other
    first, other = (replace(each, ids=each.ids.astype(np.str_)) for each in (first, other))
    return first, other


def _examples(names: Sequence[str]) -> str:
    return ", ".join(names[:3])
