"""Measure whether a larger weight of flips gives fewer flips and less accuracy (REG-NAS supplement, table 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.cifar10.measures import Estimate, Measures, Rates

# l2 / l1: Top-1 and NFR in percent, of a 300 MFLOPs network on ImageNet with a reference of 150 MFLOPs
PAPER = {
    0.05: (76.91, 2.67),
    0.1: (77.09, 2.70),
    0.2: (77.03, 2.63),
    0.5: (76.94, 2.27),
    1.0: (76.86, 2.27),
    2.0: (76.94, 2.24),
    5.0: (76.74, 2.15),
    10.0: (76.78, 2.19),
    20.0: (76.15, 2.08),
}


def tradeoff(measured: Sequence[Measures]) -> dict[str, Any] | None:
    """Return a row for each ratio, and whether Top-1 of the largest member and mean NFR fall as the ratio grows."""
    if not measured:
        return None
    ordered = sorted(measured, key=lambda one: one.row.place)
    ratios = [one.row.place[0] for one in ordered]
    top1 = [one.member_top1(len(one.row.members) - 1) for one in ordered]
    nfr = [one.mean_nfr() for one in ordered]
    paper = list(PAPER.values())
    return {
        "rows": [
            {
                "row": one.row.name,
                "ratio": ratio,
                "seeds": list(one.seeds),
                "top1": high.to_json(),
                "mean_nfr": flips.to_json(),
                "paper": PAPER.get(ratio),
            }
            for one, ratio, high, flips in zip(ordered, ratios, top1, nfr, strict=True)
        ],
        "top1": _order(ratios, top1, [high for high, _ in paper]),
        "mean_nfr": _order(ratios, nfr, [flips for _, flips in paper]),
    }


def _order(ratios: Sequence[float], estimates: Sequence[Estimate], paper: Sequence[float]) -> dict[str, Any]:
    draws = spearman(ratios, np.stack([estimate.draws for estimate in estimates], axis=1))  # [B]
    known = draws[np.isfinite(draws)]
    here = _known(spearman(ratios, np.array([[estimate.value for estimate in estimates]])))
    breaks = [
        {
            "from": low,
            "to": high,
            "change": after.value - before.value,
            "interval": Estimate(0.0, after.draws - before.draws).bounds,
        }
        for low, high, before, after in zip(ratios, ratios[1:], estimates, estimates[1:], strict=False)
        if after.value > before.value
    ]
    return {
        "spearman": here,
        "interval": Estimate(0.0, known).bounds if here is not None and len(known) else None,
        "paper_spearman": _known(spearman(list(PAPER), np.array([paper]))),
        "breaks": breaks,
        "holds": not breaks,
    }


def spearman(ratios: Sequence[float], values: Rates) -> Rates:
    """Return the rank correlation [B] of values [B, K] with the K ratios; NaN if all values or all ratios are equal."""
    ranks = rankdata(values, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    places = rankdata(ratios)
    places -= places.mean()
    size = np.sqrt((ranks**2).sum(axis=1) * (places**2).sum())
    correlations: Rates = np.divide(ranks @ places, size, out=np.full(len(ranks), np.nan), where=size > 0)
    return correlations


def _known(correlation: Rates) -> float | None:
    return float(correlation[0]) if np.isfinite(correlation[0]) else None
