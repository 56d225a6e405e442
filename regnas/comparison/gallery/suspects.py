"""Labels that may be wrong: all models except the old one agree on another class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regnas.flips import Predictions, softmax


def why_no_suspects(models: Sequence[Predictions]) -> str:
    """Say what is missing to find suspect labels; return an empty text if nothing is missing."""
    if len(models) < 3:
        return "this needs a third model"
    without = [each.model for each in models if each.logits is None]
    return f"this needs the logits of {', '.join(without)}" if without else ""


def suspects(models: Sequence[Predictions], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Find the rows [F] with a suspect label; ``models`` are the old, the new and the others, aligned.

    A label is suspect if the new model, all others and the mean-probability ensemble of all models, including the old
    one, agree on one class that is not the label.
    """
    if why_no_suspects(models):
        return np.zeros(len(rows), dtype=np.bool_)
    new, *others = models[1:]
    answer = new.predicted[rows]  # [F]
    agreed: NDArray[np.bool_] = (answer != new.targets[rows]) & (ensemble_answers(models, rows) == answer)
    for other in others:
        agreed &= other.predicted[rows] == answer
    return agreed


def ensemble_answers(models: Sequence[Predictions], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the argmax of the mean probabilities [F]; a class without a logit has probability 0 in that model."""
    widths = [each.logits.shape[1] for each in models if each.logits is not None]
    total = np.zeros((len(rows), max(widths)))
    for each in models:
        if each.logits is not None:
            probabilities = softmax(each.logits[rows])  # [F, C]
            total[:, : probabilities.shape[1]] += probabilities
    answers: NDArray[np.int64] = total.argmax(axis=1)
    return answers
