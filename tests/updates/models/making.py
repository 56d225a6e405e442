"""A store that trains in a fraction of a second: classes of noisy 8 x 8 images and networks of a few channels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from regnas.data import Preprocessing, Split, Splits
from regnas.networks import SmallResNet
from regnas.training import Recipe
from regnas.updates.models import ModelStore

SMALL = SmallResNet(widths=(4, 8))
OTHER = SmallResNet(widths=(4, 6))
RECIPE = Recipe(epochs=1, batch_size=32)
NAMES = ("stripe", "dot", "ring", "cross")


def split(name: str, samples: int, classes: int, first: int = 0, seed: int = 0) -> Split:
    """Patterns are the same in every split; noise is not."""
    patterns = np.random.default_rng(1).integers(0, 200, (classes, 8, 8))
    random = np.random.default_rng([seed, first])
    targets = np.arange(samples) % classes
    images = np.clip(patterns[targets] + random.normal(0, 70, (samples, 8, 8)), 0, 255).astype(np.uint8)
    numbers = np.arange(first, first + samples)
    ids = np.array([f"s{number}" for number in numbers])
    return Split(name, torch.from_numpy(images)[:, None], torch.from_numpy(targets), ids, numbers)


def tiny_splits(classes: int = 4, seed: int = 0, samples: int = 120) -> Splits:
    train = split("train", samples, classes, 0, seed)
    search, report = split("search", 40, classes, 1000, seed), split("report", 44, classes, 2000, seed)
    return Splits(train, search, report, NAMES[:classes], Preprocessing.fitted_to(train.images))


DATA = tiny_splits()


def open_store(folder: Path, **changes: object) -> ModelStore:
    settings = {
        "splits": DATA,
        "training": RECIPE,
        "fine_tuning": Recipe(epochs=1, batch_size=32, learning_rate=0.05),
        "device": torch.device("cpu"),
        "calibration_images": 64,
        "folder": folder,
        "seed": 0,
    }
    return ModelStore(**(settings | changes))


def state(store, model):
    return {name: tensor.clone() for name, tensor in store.module(model).state_dict().items()}


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def images(store, part="report"):
    chosen = getattr(store.splits, part)
    return store.splits.preprocessing(chosen.images)
