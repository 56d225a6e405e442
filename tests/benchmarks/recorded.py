"""Families as the study records them, built from tables of which member is correct on which sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regnas.flips import Predictions

NAMES = ("small", "medium", "large", "huge")


def write_family(
    runs: Path, row: str, report: ArrayLike, *, seed: int = 0, search: ArrayLike | None = None, **facts: Any
) -> Path:
    """Write a row of a family. ``report`` and ``search`` [M, N] say whether each member is correct on each sample; the
    search split equals the report split by default."""
    folder = runs / "rows" / row / f"seed-{seed}"
    right = {"report": np.asarray(report, dtype=bool), "search": np.asarray(report if search is None else search, bool)}
    members = NAMES[: len(right["report"])]
    table = {
        "row": row,
        "title": f"Title of {row}",
        "group": "family",
        "seed": seed,
        "members": list(members),
        "macs": [1000 * (index + 1) for index in range(len(members))],
        "architectures": [f"{row}-{member}" for member in members],
        "training_macs": 10**12,
        "search_macs": 0,
        "seconds": 60.0,
        "settings": {},
        **facts,
    }
    for split, of_members in right.items():
        for member, correct in zip(members, of_members, strict=True):
            samples = len(correct)
            Predictions(
                model=f"{row} {member}",
                ids=np.arange(samples),
                targets=np.zeros(samples, dtype=np.int64),
                predicted=np.where(correct, 0, 1),
                split=split,
            ).save(folder / split / f"{member}.npz")
    (folder / "row.json").write_text(json.dumps(table))
    return folder


def row_of(right: int, flipped: int, samples: int = 100) -> np.ndarray:
    """Two members [2, N]: the smaller is correct on the first half of the samples, the larger on ``right`` samples, and
    the first ``flipped`` of those on which the smaller is correct are lost."""
    smaller = np.arange(samples) < samples // 2
    larger = np.zeros(samples, dtype=bool)
    larger[flipped : flipped + right] = True
    assert samples // 2 <= flipped + right <= samples
    return np.stack([smaller, larger])
