"""Compare flips at matched accuracy: the NFR of regnas' methods if they are at least as accurate as a baseline.

A method at its settings is a curve of points (Top-1 of the larger networks, mean NFR). Between neighboring settings it
is a straight line, which is the mean result of shipping one of the two families at random. The lowest NFR of all curves
at Top-1 >= T is at a point, or at the place where a line crosses T.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cifar10.choices import REGNAS, by_method
from benchmarks.cifar10.measures import Estimate, Measures, Rates
from benchmarks.cifar10.rows import Row

Place = tuple[tuple[Row, ...], Rates]  # a setting or two neighbors, and the NFR there [1 + B]

ROUNDING = 1e-12  # accuracies that differ by less are the same number of samples


@dataclass(frozen=True, eq=False)
class Curve:
    """The K settings of a method in their order, as measured (first) and under B resamples.

    top1, nfr: [1 + B, K]
    """

    rows: tuple[Row, ...]
    top1: Rates
    nfr: Rates


@dataclass(frozen=True, eq=False)
class Matched:
    """The lowest NFR at the baseline's Top-1, and its ratio to the baseline's NFR; None if that Top-1 is not reached.

    rows: the row that has it, or the two rows between which it lies
    """

    rows: tuple[Row, ...]
    nfr: Estimate | None
    ratio: Estimate | None

    def to_json(self) -> dict[str, Any]:
        return {
            "reached": self.nfr is not None,
            "by": [row.name for row in self.rows],
            "matched_nfr": None if self.nfr is None else self.nfr.to_json(),
            "ratio": None if self.ratio is None else self.ratio.to_json(),
        }


def curves(measured: Mapping[str, Measures]) -> list[Curve]:
    """Return the curves of regnas' methods, from the rows of the tables and of the front."""
    rows = [one.row for one in measured.values() if one.row.group in ("family", "front") and one.row.method in REGNAS]
    found = []
    for of_method in by_method(rows).values():
        plain = [[row] for row in of_method if not row.setting]  # no neighbor of a setting
        settings = [row for row in of_method if row.setting]
        found += [curve([measured[row.name] for row in rows]) for rows in (*plain, settings) if rows]
    return found


def curve(settings: Sequence[Measures]) -> Curve:
    top1 = np.stack([_with_value(one.larger_top1()) for one in settings], axis=1)
    nfr = np.stack([_with_value(one.mean_nfr()) for one in settings], axis=1)
    return Curve(tuple(one.row for one in settings), top1, nfr)


def at_matched_top1(regnas: Sequence[Curve], baseline: Measures) -> Matched:
    """Compare the front of regnas with one baseline, everything resampled together.

    A resample in which no curve reaches the baseline counts as infinitely many flips.
    """
    wanted = _with_value(baseline.larger_top1())  # [1 + B]
    places = [place for one in regnas for place in _lowest(one, wanted)]
    if not places or not np.isfinite(min(nfr[0] for _, nfr in places)):
        return Matched((), None, None)
    lowest = np.min([nfr for _, nfr in places], axis=0)  # [1 + B]
    rows = min(places, key=lambda place: float(place[1][0]))[0]
    estimate = Estimate(float(lowest[0]), lowest[1:])
    return Matched(rows, estimate, estimate.over(baseline.mean_nfr()))


def _lowest(one: Curve, wanted: Rates) -> list[Place]:
    """Return the NFR [1 + B] at Top-1 >= wanted of each setting and each line between two; infinite if none."""
    reached = one.top1 >= wanted[:, None] - ROUNDING  # [1 + B, K]
    points = np.where(reached, one.nfr, np.inf)
    places: list[Place] = [((row,), points[:, index]) for index, row in enumerate(one.rows)]
    for left in range(len(one.rows) - 1):
        right = left + 1
        crossed = reached[:, left] != reached[:, right]
        length = one.top1[:, right] - one.top1[:, left]
        share = np.divide(wanted - one.top1[:, left], length, out=np.zeros_like(wanted), where=crossed)
        between = one.nfr[:, left] + share * (one.nfr[:, right] - one.nfr[:, left])
        places.append(((one.rows[left], one.rows[right]), np.where(crossed, between, np.inf)))
    return places


def _with_value(estimate: Estimate) -> Rates:
    return np.concatenate([[estimate.value], estimate.draws])
