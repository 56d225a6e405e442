"""The order of the methods, and the choices of the search split among their settings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.cifar10.rows import Row, pairs_of

METHODS = {  # in the order of the tables, as legends call them
    "independent": "independent training",
    "focal_distillation_kl": "focal distillation (KL)",
    "focal_distillation_lm": "focal distillation (LM)",
    "ensemble": "ensembles",
    "elodi": "ELODI",
    "r0": "supernet, search for Top-1 (R0)",
    "r2": "supernet, search with flips (R2)",
    "regnas": "REG-NAS (R2 and containment)",
    "pc_training": "congruent supernet training",
    "polished_plain": "polished without congruence",
    "polished": "polished with congruence",
    "interpolation": "interpolated weights",
}
REGNAS = ("regnas", "pc_training", "polished", "interpolation")  # whose front is compared at matched Top-1
CANDIDATES = ("pc_training", "polished", "interpolation")  # for the best row: what goes beyond the paper's search


def by_method(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Group the rows by method, ordered by setting; methods have the order of the tables, unknown ones come last."""
    known = {method: index for index, method in enumerate(METHODS)}
    methods = sorted({row.method for row in rows}, key=lambda method: (known.get(method, len(known)), method))
    return {
        method: sorted((row for row in rows if row.method == method), key=lambda row: row.place) for method in methods
    }


def method_title(method: str) -> str:
    return METHODS.get(method, method.replace("_", " "))


def search_reward(row: Row) -> float:
    """Return R2 with l1 = l2 = 1 on the search split: mean Top-1 of the members - mean NFR of the pairs, over seeds.

    It is rounded, so that rewards that differ only by the rounding of their sums are a tie.
    """
    rewards = []
    for family in row.families:
        right = family.search
        flips = [np.mean(right[low] & ~right[high]) for low, high in pairs_of(len(right))]
        rewards.append(right.mean(axis=1).mean() - np.mean(flips))
    return round(float(np.mean(rewards)), 12)


def chosen(rows: Sequence[Row]) -> Row:
    """Return the row with the highest reward; the first of a tie."""
    return max(rows, key=search_reward)


def best_regnas(family_rows: Sequence[Row], most_training_macs: float | None) -> Row | None:
    """Return the candidate that the search split chooses within the limit of compute.

    If no candidate is within the limit, return the best of all; the bar on compute is then missed.
    """
    candidates = [row for rows in by_method(family_rows).values() for row in rows if row.method in CANDIDATES]
    within = [row for row in candidates if most_training_macs is None or row.training_macs <= most_training_macs]
    return chosen(within or candidates) if candidates else None
