"""Measure whether networks that share weights flip less at the same gap in accuracy (REG-NAS supplement, figure 1).

Every pair of a family is a point: the absolute gap in Top-1 and its NFR. Each cloud gets a line by least squares,
NFR = a + b * gap. The clouds are compared at gaps at which both have points. Pairs of one family share networks, so
whole families are resampled for the intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cifar10.measures import RESAMPLES, Measures, Rates, relative
from regnas.flips import interval
from regnas.runtime.randomness import generator

CLOUDS = {"independent": "sharing-independent", "supernet": "sharing-supernet"}  # what the names of the rows begin with
COMMON_GAPS = 5
MEASURES = ("nfr", "relative_nfr")


@dataclass(frozen=True, eq=False)
class Cloud:
    """The pairs of F families: [F] arrays of each family's gaps, NFR and relative NFR."""

    gaps: list[Rates]
    nfr: list[Rates]
    relative_nfr: list[Rates]


def sharing(measured: Sequence[Measures]) -> dict[str, Any] | None:
    """Return the points, lines and differences (independent minus supernet) of both clouds."""
    clouds = {name: cloud([one for one in measured if one.row.name.startswith(CLOUDS[name])]) for name in CLOUDS}
    if not any(one.gaps for one in clouds.values()):
        return None
    result: dict[str, Any] = {"clouds": {}, "differences": []}
    for name, one in clouds.items():
        result["clouds"][name] = {
            "families": len(one.gaps),
            "points": [
                {"family": family, "gap": gap, "nfr": nfr, "relative_nfr": rate}
                for family, of_family in enumerate(zip(one.gaps, one.nfr, one.relative_nfr, strict=True))
                for gap, nfr, rate in zip(*(values.tolist() for values in of_family), strict=True)
            ],
            **{f"{key}_line": _line_json(one, key) for key in MEASURES},
        }
    if all(one.gaps for one in clouds.values()):
        result["differences"] = _differences(clouds["independent"], clouds["supernet"])
    return result


def cloud(measured: Sequence[Measures]) -> Cloud:
    """Return the cloud of the pairs of families, each a row at one seed."""
    found = Cloud([], [], [])
    for one in measured:
        low, high = (list(side) for side in zip(*one.pairs, strict=True))
        for top1, nfr in zip(one.top1, one.nfr, strict=True):
            found.gaps.append(np.abs(top1[high] - top1[low]))
            found.nfr.append(nfr)
            found.relative_nfr.append(relative(nfr, top1[low], top1[high]))
    return found


def lines(gaps: Sequence[Rates], values: Sequence[Rates], weights: Rates) -> Rates:
    """Fit lines by least squares with each family taken ``weights`` [B, F] times; return intercepts and slopes [B, 2].

    If all gaps are the same, the slope is not defined, and 0 is used.
    """
    sums = np.array(
        [[len(x), x.sum(), y.sum(), (x * x).sum(), (x * y).sum()] for x, y in zip(gaps, values, strict=True)]
    )  # [F, 5]
    n, x, y, xx, xy = (weights @ sums).T  # [B] each
    variance = n * xx - x * x
    slope = np.divide(n * xy - x * y, variance, out=np.zeros_like(n), where=variance > 1e-12 * n * xx)
    return np.stack([(y - slope * x) / n, slope], axis=1)


def _line_json(one: Cloud, key: str) -> dict[str, float] | None:
    if not one.gaps:
        return None
    intercept, slope = lines(one.gaps, getattr(one, key), np.ones((1, len(one.gaps))))[0].tolist()
    return {"intercept": intercept, "slope": slope}


def _differences(independent: Cloud, supernet: Cloud) -> list[dict[str, Any]]:
    """Return the differences at gaps that both clouds have; none without such gaps. A single family has no interval."""
    edges = [(np.concatenate(one.gaps).min(), np.concatenate(one.gaps).max()) for one in (independent, supernet)]
    low, high = max(edge[0] for edge in edges), min(edge[1] for edge in edges)
    if low > high:
        return []
    rows: list[dict[str, Any]] = [{"gap": float(gap)} for gap in np.linspace(low, high, COMMON_GAPS)]
    for key in MEASURES:
        once = [_lines_of(one, key, np.ones((1, len(one.gaps)))) for one in (independent, supernet)]
        resampled = [
            _lines_of(one, key, _weights(name, len(one.gaps)))
            for name, one in (("independent", independent), ("supernet", supernet))
        ]
        several = min(len(independent.gaps), len(supernet.gaps)) > 1
        for row in rows:
            at = np.array([1.0, row["gap"]])
            row[key] = {
                "independent": float((once[0] @ at)[0]),
                "supernet": float((once[1] @ at)[0]),
                "difference": float(((once[0] - once[1]) @ at)[0]),
                "interval": list(interval((resampled[0] - resampled[1]) @ at)) if several else None,
            }
    return rows


def _lines_of(one: Cloud, key: str, weights: Rates) -> Rates:
    return lines(one.gaps, getattr(one, key), weights)


def _weights(name: str, families: int) -> Rates:
    random = generator(0, "cifar10", "sharing", name)
    return random.multinomial(families, np.full(families, 1 / families), size=RESAMPLES).astype(np.float64)
