"""Flip rates between every two of K models, from one matrix product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.components.registry import nearest
from regnas.errors import ArtifactError, ConfigurationError, first_line
from regnas.flips.alignment import align
from regnas.flips.predictions import Predictions

KEYS = ("models", "samples", "accuracy", "nfr", "relative_nfr")

# Entries of the float32 block of one product: 64 MiB, and at most 2**24 samples, up to which float32 counts exactly.
BLOCK_ENTRIES = 2**24


@dataclass(frozen=True)
class FlipPair:
    """All rates of one pair of models."""

    reference: str
    new: str
    reference_accuracy: float
    new_accuracy: float
    nfr: float
    pfr: float
    relative_nfr: float


@dataclass(frozen=True, eq=False)
class FlipTable:
    """Flip rates of K models: row = reference, column = new. A family goes from the smallest to the largest member.

    accuracy: [K]
    nfr: [K, K], nfr[i, j] = mean(i correct and j wrong)
    relative_nfr: [K, K], nfr[i, j] / (accuracy[i] * (1 - accuracy[j])), 0 for 0 / 0
    """

    models: tuple[str, ...]
    samples: int
    accuracy: NDArray[np.float64]
    nfr: NDArray[np.float64]
    relative_nfr: NDArray[np.float64]

    def __post_init__(self) -> None:
        count = len(self.models)
        if len(set(self.models)) < count:
            repeated = next(name for name in self.models if self.models.count(name) > 1)
            raise ArtifactError(f'flip table: two models are called "{repeated}". Give each its own name.')
        if count == 0 or self.samples < 1:
            raise ArtifactError(f"flip table: {count} models on {self.samples} samples leave nothing to compare")
        for name, shape in (("accuracy", (count,)), ("nfr", (count, count)), ("relative_nfr", (count, count))):
            values: NDArray[np.float64] = getattr(self, name)
            if values.shape != shape:
                raise ArtifactError(f"flip table: {name} must have the shape {list(shape)}, got {list(values.shape)}")
            if not (np.isfinite(values).all() and values.min() >= 0):
                raise ArtifactError(f"flip table: {name} holds values that are negative or not finite")
        # ER_new = ER_reference + NFR - PFR holds for every table of real models, and fails for a transposed one.
        gap = self.accuracy[:, None] - self.accuracy[None, :] - (self.nfr - self.nfr.T)  # [K, K]
        if max(self.accuracy.max(), self.nfr.max()) > 1 or np.abs(gap).max() > 1e-9:
            raise ArtifactError("flip table: the flip rates contradict the accuracies; it was changed or is damaged")

    @property
    def pfr(self) -> NDArray[np.float64]:
        """The positive flip rates [K, K]: a positive flip from i to j is a negative flip from j to i."""
        return self.nfr.T

    def pair(self, reference: str, new: str) -> FlipPair:
        """Return all rates of a reference and a new model, by their names."""
        row, column = self._index(reference), self._index(new)
        return FlipPair(
            reference=reference,
            new=new,
            reference_accuracy=float(self.accuracy[row]),
            new_accuracy=float(self.accuracy[column]),
            nfr=float(self.nfr[row, column]),
            pfr=float(self.nfr[column, row]),
            relative_nfr=float(self.relative_nfr[row, column]),
        )

    def mean_nfr(self, order: Sequence[str] | None = None) -> float:
        """Return the mean NFR over pairs whose reference precedes the new model in ``order`` (default: models)."""
        names = self.models if order is None else tuple(order)
        indices = np.array([self._index(name) for name in names], dtype=np.int64)
        if len(indices) < 2:
            raise ArtifactError(f"mean NFR needs at least two models, got {len(indices)}")
        rows, columns = np.triu_indices(len(indices), k=1)
        return float(self.nfr[indices[rows], indices[columns]].mean())

    def to_json(self) -> dict[str, Any]:
        """Return the table as a JSON object."""
        return {
            "models": list(self.models),
            "samples": self.samples,
            "accuracy": self.accuracy.tolist(),
            "nfr": self.nfr.tolist(),
            "relative_nfr": self.relative_nfr.tolist(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FlipTable:
        """Read and check a JSON object that ``to_json`` returned."""
        missing = [key for key in KEYS if key not in value]
        if missing:
            raise ArtifactError(f"flip table lacks {', '.join(missing)}: it was not written by this version of regnas")
        try:
            return cls(
                models=tuple(str(name) for name in value["models"]),
                samples=int(value["samples"]),
                accuracy=np.asarray(value["accuracy"], dtype=np.float64),
                nfr=np.asarray(value["nfr"], dtype=np.float64),
                relative_nfr=np.asarray(value["relative_nfr"], dtype=np.float64),
            )
        except (TypeError, ValueError) as error:
            raise ArtifactError(f"flip table is damaged: {first_line(error)}") from None

    def _index(self, name: str) -> int:
        if name not in self.models:
            known = list(self.models)
            raise ConfigurationError(f'no model "{name}" in the flip table{nearest(name, known)} ({", ".join(known)})')
        return self.models.index(name)


def flip_table(predictions: Sequence[Predictions]) -> FlipTable:
    """Compare every two of the models, joined by sample id."""
    aligned = align(predictions)
    correctness = np.stack([each.correct for each in aligned])  # [K, N]
    return flip_table_from_correctness([each.model for each in aligned], correctness)


def flip_table_from_correctness(models: Sequence[str], correctness: NDArray[np.bool_]) -> FlipTable:
    """Return the table of K models from R [K, N], R[i, n] = model i is correct on sample n.

    both = R R^T counts the samples on which i and j are correct. Of the both[i, i] correct samples of i, j gets
    both[i, i] - both[i, j] wrong. Counts stay integers to the end: no flip is exactly 0.
    """
    if correctness.ndim != 2 or correctness.dtype != np.bool_ or len(models) != len(correctness):
        raise ArtifactError(
            f"flip table: correctness must be booleans of shape [{len(models)}, N], got {correctness.dtype} of shape "
            f"{list(correctness.shape)}"
        )
    count, samples = correctness.shape
    if count == 0 or samples == 0:
        raise ArtifactError(f"flip table: {count} models on {samples} samples leave nothing to compare")
    both = np.zeros((count, count), dtype=np.int64)
    step = max(1, BLOCK_ENTRIES // count)
    for start in range(0, samples, step):
        block = correctness[:, start : start + step].astype(np.float32)  # [K, n]
        both += (block @ block.T).astype(np.int64)
    right = both.diagonal()  # [K]
    flips = right[:, None] - both  # [K, K]
    chances = right[:, None] * (samples - right)[None, :]  # [K, K]
    relative = np.divide(flips * samples, chances, out=np.zeros((count, count)), where=chances > 0)
    return FlipTable(tuple(models), samples, right / samples, flips / samples, relative)
