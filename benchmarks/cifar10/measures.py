"""Compute the rates of every row, each a mean over its seeds, with one paired bootstrap over the samples for all.

A resample draws samples once and applies to all rows and seeds, so common parts cancel in differences and ratios. The
interval describes the effect of other samples on these trainings. The spread over seeds, beside it, describes the
effect of other trainings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cifar10.rows import Recorded, Row, pairs_of
from regnas.flips import bootstrap_means, interval

Rates = NDArray[np.float64]

RESAMPLES = 2000


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number with its values under resamples [B]; ``by_seed`` if it is a mean over seeds."""

    value: float
    draws: Rates
    by_seed: tuple[float, ...] = ()

    def minus(self, other: Estimate) -> Estimate:
        """Return the difference, paired by seed: both must come from the same seeds, in the same order."""
        by_seed = tuple(one - two for one, two in zip(self.by_seed, other.by_seed, strict=True))
        return Estimate(self.value - other.value, self.draws - other.draws, by_seed)

    def over(self, other: Estimate) -> Estimate | None:
        """Return the ratio of two means; None if the other is 0, and infinite in resamples in which it is 0."""
        if other.value == 0:
            return None
        infinite = np.full_like(self.draws, np.inf)
        draws = np.divide(self.draws, other.draws, out=infinite, where=other.draws > 0)
        return Estimate(self.value / other.value, draws)

    @property
    def bounds(self) -> list[float | None]:
        """The 95 % interval; an infinite bound is None."""
        if np.isfinite(self.draws).all():
            return list(interval(self.draws))
        ends = np.quantile(self.draws, [0.025, 0.975], method="inverted_cdf")  # never between two draws: inf - inf
        return [float(end) if np.isfinite(end) else None for end in ends]

    @property
    def spread(self) -> float | None:
        return float(np.std(self.by_seed, ddof=1)) if len(self.by_seed) > 1 else None

    def to_json(self) -> dict[str, Any]:
        return {"mean": self.value, "interval": self.bounds, "spread": self.spread, "values": list(self.by_seed)}


@dataclass(frozen=True, eq=False)
class Measures:
    """The rates of the S seeds of a row with M members and P pairs, as measured and under B resamples.

    top1: [S, M], nfr: [S, P]
    top1_draws: [B, S, M], nfr_draws: [B, S, P]
    """

    row: Row
    seeds: tuple[int, ...]
    top1: Rates
    nfr: Rates
    top1_draws: Rates
    nfr_draws: Rates

    def estimate(self, rate: Callable[[Rates, Rates], Rates]) -> Estimate:
        """Return the mean over seeds of a rate [..., S] that is computed from Top-1 [..., S, M] and NFR [..., S, P]."""
        by_seed = rate(self.top1, self.nfr)  # [S]
        draws = rate(self.top1_draws, self.nfr_draws).mean(axis=-1)  # [B]
        return Estimate(float(by_seed.mean()), draws, tuple(by_seed.tolist()))

    def only(self, seeds: Sequence[int]) -> Measures:
        kept = [self.seeds.index(seed) for seed in seeds]
        return Measures(
            self.row,
            tuple(seeds),
            self.top1[kept],
            self.nfr[kept],
            self.top1_draws[:, kept],
            self.nfr_draws[:, kept],
        )

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return pairs_of(len(self.row.members))

    def member_top1(self, member: int) -> Estimate:
        return self.estimate(lambda top1, nfr: top1[..., member])

    def gain(self, member: int) -> Estimate:
        """Return Top-1 of a member minus that of the next smaller one."""
        return self.estimate(lambda top1, nfr: top1[..., member] - top1[..., member - 1])

    def mean_top1(self) -> Estimate:
        return self.estimate(lambda top1, nfr: top1.mean(axis=-1))

    def larger_top1(self) -> Estimate:
        """Return Top-1 of the larger network, as a mean over the pairs."""
        larger = [high for _, high in self.pairs]
        return self.estimate(lambda top1, nfr: top1[..., larger].mean(axis=-1))

    def larger_error(self) -> Estimate:
        larger = [high for _, high in self.pairs]
        return self.estimate(lambda top1, nfr: 1 - top1[..., larger].mean(axis=-1))

    def mean_nfr(self) -> Estimate:
        return self.estimate(lambda top1, nfr: nfr.mean(axis=-1))

    def pair_nfr(self, pair: int) -> Estimate:
        return self.estimate(lambda top1, nfr: nfr[..., pair])

    def pair_pfr(self, pair: int) -> Estimate:
        """Return PFR = NFR + Top-1 of the larger - Top-1 of the smaller."""
        low, high = self.pairs[pair]
        return self.estimate(lambda top1, nfr: nfr[..., pair] + top1[..., high] - top1[..., low])

    def pair_relative_nfr(self, pair: int) -> Estimate:
        low, high = self.pairs[pair]
        return self.estimate(lambda top1, nfr: relative(nfr[..., pair], top1[..., low], top1[..., high]))


def relative(nfr: Rates, smaller_top1: Rates, larger_top1: Rates) -> Rates:
    """Return NFR / (Top-1 of the smaller * error rate of the larger); 0 if nothing can flip."""
    chance = smaller_top1 * (1 - larger_top1)
    return np.divide(nfr, chance, out=np.zeros_like(nfr), where=chance > 0)


def measure(recorded: Recorded, resamples: int = RESAMPLES) -> dict[str, Measures]:
    """Return the measures of every row by its name, all under the same resamples."""
    blocks = [_indicators(family.report) for row in recorded.rows for family in row.families]  # [N, M + P] each
    values = np.concatenate(blocks, axis=1).astype(np.float64)  # [N, C]
    means, draws = values.mean(axis=0), bootstrap_means(values, recorded.clusters, resamples)  # [C], [B, C]
    measured: dict[str, Measures] = {}
    start = 0
    for row in recorded.rows:
        members, seeds = len(row.members), len(row.families)
        columns = members + len(pairs_of(members))
        stop = start + seeds * columns
        own, own_draws = means[start:stop].reshape(seeds, columns), draws[:, start:stop].reshape(-1, seeds, columns)
        measured[row.name] = Measures(
            row, row.seeds, own[:, :members], own[:, members:], own_draws[..., :members], own_draws[..., members:]
        )
        start = stop
    return measured


def _indicators(right: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return 1 for each correct member, then for each pair that flips from correct to wrong: [M, N] -> [N, M + P]."""
    flips = [right[low] & ~right[high] for low, high in pairs_of(len(right))]
    return np.stack([*right, *flips], axis=1)
