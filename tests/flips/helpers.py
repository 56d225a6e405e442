"""Small predictions for the tests: class 0 is always the target, so 0 is correct and 1 is wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from regnas.flips import Predictions


def answers(pattern: str, model: str = "model", groups: Sequence[int] | None = None) -> Predictions:
    """``answers("110")``: correct, correct, wrong."""
    right = np.array([mark == "1" for mark in pattern])
    return Predictions(
        model=model,
        ids=np.arange(len(pattern)),
        targets=np.zeros(len(pattern), dtype=np.int64),
        predicted=np.where(right, 0, 1),
        groups=None if groups is None else np.array(groups),
    )


@st.composite
def correctness_rows(draw: st.DrawFn, models: int | None = None) -> list[list[bool]]:
    """K rows of N booleans."""
    count = draw(st.integers(1, 5)) if models is None else models
    samples = draw(st.integers(1, 30))
    row = st.lists(st.booleans(), min_size=samples, max_size=samples)
    return draw(st.lists(row, min_size=count, max_size=count))


def from_rows(rows: list[list[bool]]) -> list[Predictions]:
    return [answers("".join("01"[right] for right in row), f"model-{index}") for index, row in enumerate(rows)]


def shuffled(predictions: Predictions, seed: int) -> Predictions:
    order = np.random.default_rng(seed).permutation(len(predictions))
    return Predictions(
        model=predictions.model,
        ids=predictions.ids[order],
        targets=predictions.targets[order],
        predicted=predictions.predicted[order],
        logits=None if predictions.logits is None else predictions.logits[order],
        groups=None if predictions.groups is None else predictions.groups[order],
        split=predictions.split,
    )
