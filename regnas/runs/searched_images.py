"""Divide the search split into images of the search and images that decide about polishing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.data import Split, Splits, hold_out
from regnas.errors import ConfigurationError
from regnas.family.polishing import Images, Polishing
from regnas.flips import Predictions, count_clusters
from regnas.runs.folder import RunFolder
from regnas.runtime.randomness import key_to_int

HELD_OUT = "held_out"  # a fact: the share of the search split that is held out of the search


def share_to_hold_out(folder: RunFolder, polishing: Polishing | None, changes: Any, searched: bool) -> float:
    """Return the share for this run; it is fixed once a search has begun, because its images have then chosen."""
    wanted = 0.0 if polishing is None else polishing.held_out
    if not searched:
        return wanted
    fixed = float(folder.facts.get(HELD_OUT, 0.0))
    if HELD_OUT in changes and wanted != fixed:
        raise ConfigurationError(
            f"polish.held_out must be {fixed:g}, with which the members were searched, got {wanted:g}. Start a run "
            "with another `out` to change it."
        )
    return fixed


def divide(split: Split, share: float, seed: int) -> Images:
    """Hold out a share of the originals of every class, keyed by the seed of the run; all variants stay together."""
    everything = np.arange(len(split))
    searched = deciding = everything
    if share:
        kept, held = hold_out(split.targets.numpy(), share, key_to_int(seed, "polish", "held out"), split.groups)
        if len(held):
            searched, deciding = kept, held
    return Images(searched, deciding, count_clusters(split.groups[deciding], len(deciding)))


def searched_splits(splits: Splits, images: Images) -> Splits:
    """Return the splits with only the images of the search in the search split."""
    if not images.held_out:
        return splits
    return replace(splits, search=splits.search.part(splits.search.name, images.searched))


def searched_part(predictions: Predictions, chosen: NDArray[np.int64]) -> Predictions:
    """Return the predictions of some samples."""
    groups = None if predictions.groups is None else predictions.groups[chosen]
    ids, targets, predicted = (each[chosen] for each in (predictions.ids, predictions.targets, predictions.predicted))
    return Predictions(predictions.model, ids, targets, predicted, groups=groups)
