"""A part of the training data, such as the data that an older model was trained on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch

from regnas.data.holding_out import hold_out
from regnas.data.splits import Split, Splits
from regnas.runtime.randomness import generator

FEWEST_CLASSES = 2


@dataclass(frozen=True)
class DataFraction:
    """A share ``samples`` of every class, and a share ``classes`` of all classes, as fractions.

    Fractions are nested: a larger one holds every sample of a smaller one.
    """

    content_name: ClassVar[str] = "Share"  # in digests; see updates/models/content.py
    samples: float = 1.0
    classes: float = 1.0

    def __post_init__(self) -> None:
        for name, fraction in (("samples", self.samples), ("classes", self.classes)):
            if not 0 < fraction <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, got {fraction}")

    def classes_of(self, total: int) -> int:
        """Return the number of classes, at least two; they are the first classes."""
        return min(total, max(FEWEST_CLASSES, round(self.classes * total)))

    def of(self, split: Split, classes: int, seed: int) -> Split:
        """Return the samples of this share; ``classes`` is the number of all classes."""
        known = self.classes_of(classes)
        kept = np.flatnonzero(split.targets.numpy() < known) if known < classes else np.arange(len(split))
        if self.samples < 1:
            inside, _ = hold_out(split.targets.numpy()[kept], 1 - self.samples, seed, split.groups[kept])
            kept = kept[inside]
        return split if len(kept) == len(split) else split.part(split.name, kept)


WHOLE = DataFraction()


def in_random_class_order(splits: Splits, seed: int) -> Splits:
    """Return the same data with the classes renumbered at random: the first classes are then a random choice."""
    order = generator(seed, "order of the classes").permutation(len(splits.classes))  # new number -> old number
    renumbered = torch.from_numpy(np.argsort(order))  # old number -> new number
    train, search, report = (replace(split, targets=renumbered[split.targets]) for split in splits.all)
    classes = tuple(splits.classes[number] for number in order)
    return Splits(train, search, report, classes, splits.preprocessing)
