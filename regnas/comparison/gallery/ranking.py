"""Negative flips, the worst first: for the flip gallery and for the pictures in a family's report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.errors import ArtifactError
from regnas.flips import Predictions, probabilities_of, severities
from regnas.flips.predictions import examples


@dataclass(frozen=True)
class Answer:
    """A predicted class; ``confidence`` is its probability, None if no logits were kept."""

    predicted: int
    confidence: float | None


def negative_flips(old: Predictions, new: Predictions) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the samples that the old model predicts correctly and the new one does not: rows [F], severities [F]."""
    rows = np.flatnonzero(old.correct & ~new.correct)
    return rows, severities(new, rows)


def worst_first(ids: NDArray[Any], severity: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the order [F] of falling severity; samples of equal severity are ordered by id."""
    return np.lexsort((ids, -severity))


def answers_of(predictions: Predictions, rows: NDArray[np.int64]) -> list[Answer]:
    """Return what a model predicts for some rows [F]."""
    confidences = probabilities_of(predictions, rows, predictions.predicted)
    known: Sequence[Any] = [None] * len(rows) if confidences is None else confidences.tolist()
    return [Answer(*pair) for pair in zip(predictions.predicted[rows].tolist(), known, strict=True)]


def locate(predicted: NDArray[Any], ids: NDArray[Any], source: str) -> NDArray[np.int64]:
    """Return the place of each predicted sample [N] among ``ids``, those of ``source``; refuse missing samples."""
    place = {str(name): index for index, name in enumerate(ids.tolist())}
    position = np.array([place.get(str(name), -1) for name in predicted.tolist()], dtype=np.int64)
    missing = predicted[position < 0]
    if len(missing):
        raise ArtifactError(
            f"predicted samples must be in {source}, got {len(missing):,} of {len(predicted):,} that are not, such as "
            f"{examples(missing)} (there: {examples(ids)}). Use the data that were predicted."
        )
    return position
