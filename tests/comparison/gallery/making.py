"""Predictions and samples for galleries: class 0 is the label of every even sample, class 1 of every odd one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from regnas.data import Split
from regnas.flips import Predictions
from regnas.prediction.data import Samples

CLASSES = ("zero", "one", "two")


def answers(model: str, predicted: Sequence[int], confidences: Sequence[float] | None = None, **changes) -> Predictions:
    """With the probability of each answer; the rest is shared by the two other classes."""
    chosen = np.array(predicted)
    logits = None
    if confidences is not None:
        rest = (1 - np.array(confidences))[:, None] / 2
        probabilities = np.repeat(rest, 3, axis=1)
        probabilities[np.arange(len(chosen)), chosen] = confidences
        logits = np.log(probabilities).astype(np.float32)
    ids = np.array([f"s{index:02d}" for index in range(len(chosen))])
    values = {"model": model, "ids": ids, "targets": np.arange(len(chosen)) % 2, "predicted": chosen, "logits": logits}
    return Predictions(**(values | changes))


def samples(count: int, classes: tuple[str, ...] = CLASSES, ids: Sequence[str] | None = None) -> Samples:
    """Every image has its number as its brightness."""
    images = torch.arange(count, dtype=torch.uint8)[:, None, None, None].expand(count, 3, 6, 6).contiguous()
    names = np.array([f"s{index:02d}" for index in range(count)] if ids is None else ids, dtype=np.str_)
    split = Split("report", images, torch.arange(count) % 2, names, np.arange(count))
    return Samples("photos", split, classes)


def save(folder: Path, *predictions: Predictions) -> list[Path]:
    paths = [folder / f"{each.model}.npz" for each in predictions]
    for path, each in zip(paths, predictions, strict=True):
        each.save(path)
    return paths
