"""Hold out a part of the samples, class by class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regnas.runtime.randomness import generator


def check_fraction(name: str, fraction: float) -> None:
    if not 0 < fraction < 1:
        raise ValueError(f"{name} must be between 0 and 1, got {fraction}")


def hold_out(
    targets: NDArray[np.int64], fraction: float, seed: int, groups: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return indices to keep and indices held out, both ascending; about ``fraction`` of every class is held out.

    A class with two samples or more has at least one on each side; a single sample is kept. With ``groups``, whole
    groups stay together and count as one sample, of the class of their first member.
    """
    check_fraction("fraction", fraction)
    samples = np.arange(len(targets))
    _, first, group_of = np.unique(samples if groups is None else groups, return_index=True, return_inverse=True)
    group_targets = np.asarray(targets)[first]  # [G]
    held_groups = np.zeros(len(first), dtype=bool)
    for target in np.unique(group_targets):
        members = np.flatnonzero(group_targets == target)
        if len(members) < 2:
            continue
        number = min(max(round(fraction * len(members)), 1), len(members) - 1)
        # Keyed by the class: adding or dropping a class does not change the others.
        held_groups[generator(seed, "hold out", int(target)).permutation(members)[:number]] = True
    held = held_groups[group_of]  # [G] -> [N]
    return samples[~held], samples[held]
