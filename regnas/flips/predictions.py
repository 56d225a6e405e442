"""The predictions of one model on one set of samples."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.errors import ArtifactError
from regnas.flips.ordering import quick_order
from regnas.runtime.npz import SIZE_LIMIT, ArraySpec, read_arrays, write_arrays

ARRAYS = {
    "id": ArraySpec("Uiu", 1),
    "target": ArraySpec("iu", 1),
    "predicted": ArraySpec("iu", 1),
    "model": ArraySpec("U", 0),
    "split": ArraySpec("U", 0),
    "logits": ArraySpec("f", 2, required=False),
    "group": ArraySpec("iu", 1, required=False),
}


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of one model on labeled samples.

    Attributes:
        model: The name of the model.
        ids: [N], text or integers, all different.
        targets: [N], the true classes, numbered from 0.
        predicted: [N], the predicted classes, numbered from 0.
        logits: [N, C], or None.
        groups: [N], the cluster of each sample (variants of one original); None: each sample is its own cluster.
        split: The name or digest of the samples' split.
        id_order: [N], the positions that sort the ids; kept, because every comparison with this model needs them.

    Raises:
        ArtifactError: The ids repeat, or an array has another shape or type, negative classes or logits that are not
            finite.

    Example:
        >>> import numpy as np
        >>> targets, predicted = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0])
        >>> Predictions("new", np.arange(4), targets, predicted).accuracy
        0.75
    """

    model: str
    ids: NDArray[Any]
    targets: NDArray[np.int64]
    predicted: NDArray[np.int64]
    logits: NDArray[np.float32] | None = None
    groups: NDArray[np.int64] | None = None
    split: str = ""
    id_order: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ids = np.asarray(self.ids)
        if ids.ndim != 1 or ids.dtype.kind not in "Uiu":
            raise self._error(f"ids must be text or integers of shape [N], got {ids.dtype} {list(ids.shape)}")
        if len(ids) == 0:
            raise self._error("ids must have at least one sample, got none")
        self._keep("ids", ids if ids.dtype.kind == "U" else ids.astype(np.int64, copy=False))
        order, twice = quick_order(self.ids)
        self._keep("id_order", order)
        if len(twice):
            raise self._error(f"{len(twice):,} ids occur more than once, such as {examples(twice)}")
        for name in ("targets", "predicted"):
            classes = self._integers(name)
            if classes.min() < 0:
                raise self._error(f"{name} holds {classes.min()}, but classes are numbered from 0")
            self._keep(name, classes)
        if self.groups is not None:
            self._keep("groups", self._integers("groups"))
        if self.logits is not None:
            self._keep("logits", self._finite_logits())

    @property
    def correct(self) -> NDArray[np.bool_]:
        """[N], whether each prediction is the true class."""
        correct: NDArray[np.bool_] = self.predicted == self.targets  # [N]
        return correct

    @property
    def accuracy(self) -> float:
        """The share of correct predictions."""
        return int(np.count_nonzero(self.correct)) / len(self)

    @property
    def error_rate(self) -> float:
        """The share of wrong predictions."""
        return int(np.count_nonzero(~self.correct)) / len(self)

    def __len__(self) -> int:
        return len(self.ids)

    def answered_by(self, model: str, predicted: NDArray[np.int64]) -> Predictions:
        """Return the predictions of another model on the same samples; ids and targets are not checked again."""
        answers = self.changed(model=model, predicted=predicted, logits=None)
        answers._integers("predicted")
        return answers

    def changed(self, **values: Any) -> Predictions:
        """Return a copy with other values, without checking them, because sorting a million ids takes long."""
        other = copy(self)
        for name, value in values.items():
            other._keep(name, value)
        return other

    def reorder(self, like: Predictions, position: NDArray[np.int64]) -> Predictions:
        """Return a copy in the order of ``like``, whose n-th sample is here at position[n], without checks."""
        kept = {name: getattr(self, name) for name in ("targets", "predicted", "logits", "groups")}
        moved = {name: None if values is None else values[position] for name, values in kept.items()}
        return self.changed(ids=like.ids, id_order=like.id_order, **moved)

    def save(self, path: Path) -> None:
        """Write an npz file, complete or not at all; the same content always gives the same bytes."""
        arrays: dict[str, NDArray[Any]] = {
            "id": self.ids,
            "target": self.targets,
            "predicted": self.predicted,
            "model": np.array(self.model),
            "split": np.array(self.split),
        }
        if self.logits is not None:
            arrays["logits"] = np.ascontiguousarray(self.logits)
        if self.groups is not None:
            arrays["group"] = self.groups
        write_arrays(path, arrays)

    def _integers(self, name: str) -> NDArray[np.int64]:
        values = np.asarray(getattr(self, name))
        if values.shape != self.ids.shape or values.dtype.kind not in "iu":
            raise self._error(f"{name} must be integers of shape [{len(self)}] like the ids, got {describe(values)}")
        return values.astype(np.int64, copy=False)

    def _finite_logits(self) -> NDArray[np.float32]:
        values = np.asarray(self.logits)
        if values.ndim != 2 or len(values) != len(self) or values.shape[1] == 0 or values.dtype.kind != "f":
            raise self._error(f"logits must be floats of shape [{len(self)}, C], got {describe(values)}")
        with np.errstate(over="ignore"):  # an overflow becomes infinite and is refused below
            logits = values.astype(np.float32, copy=False)
        bad = self.ids[~np.isfinite(logits).all(axis=1)]
        if len(bad):
            raise self._error(f"{len(bad):,} samples have logits that are not finite, such as {examples(bad)}")
        return logits

    def _keep(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # the dataclass is frozen; this is its constructor

    def _error(self, problem: str) -> ArtifactError:
        return ArtifactError(f'predictions of "{self.model}": {problem}')


def load_predictions(path: Path, size_limit: int = SIZE_LIMIT) -> Predictions:
    """Read a file that ``Predictions.save`` wrote; refuse any other file with its name and the reason."""
    arrays = read_arrays(path, ARRAYS, ArtifactError, size_limit)
    try:
        return Predictions(
            model=str(arrays["model"]),
            ids=arrays["id"],
            targets=arrays["target"],
            predicted=arrays["predicted"],
            logits=arrays.get("logits"),
            groups=arrays.get("group"),
            split=str(arrays["split"]),
        )
    except ArtifactError as error:
        raise ArtifactError(f"{path}: {error}") from None


def describe(values: NDArray[Any]) -> str:
    """Return the type and the shape of an array, for an error message."""
    return f"{values.dtype} of shape {list(values.shape)}"


def examples(ids: NDArray[Any]) -> str:
    """Return up to three ids, for an error message."""
    return ", ".join(str(sample) for sample in ids[:3].tolist())
