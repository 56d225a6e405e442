"""Uniform numbers for many samples at once, each a pure function of (key, epoch, sample, position).

A generator per sample would be slow, and one generator per batch would make the numbers of a sample depend on the batch
that it comes in. Here every number is a hash, computed for all samples by a few operations on arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

GAMMA = 0x9E3779B97F4A7C15  # the golden ratio times 2**64, odd
BITS = 53  # of a float64


@dataclass(frozen=True, eq=False)
class Draws:
    """Numbers of the ``samples`` [N] in an epoch, independent for different keys, epochs and samples.

    Those of a sample are the stream of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) that starts at a hash of key,
    epoch and sample.

    Example:
        >>> whole, part = Draws(7, 0, np.arange(5)), Draws(7, 0, np.array([3]))
        >>> bool((whole.uniform(2)[3] == part.uniform(9)[0, :2]).all())
        True
    """

    key: int
    epoch: int
    samples: NDArray[np.int64]  # [N]

    def __len__(self) -> int:
        return len(self.samples)

    def uniform(self, count: int) -> NDArray[np.float64]:
        """Return ``count`` numbers per sample, [N, count], uniform in [0, 1); a prefix does not depend on ``count``."""
        start = mix(np.array([self.key]).astype(np.uint64) + _steps(np.array([self.epoch + 1])))
        streams = mix(start + _steps(self.samples + 1))  # [N]
        return uniform_of(stream(streams, count))

    def within(self, low: float, high: float, count: int = 1) -> NDArray[np.float64]:
        """Return numbers that are uniform in [low, high), [N, count]."""
        return low + (high - low) * self.uniform(count)

    def of_all_epochs(self) -> Draws:
        """Return the draws of the samples that are the same in every epoch."""
        return replace(self, epoch=0)


def stream(seeds: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
    """Return the first ``count`` outputs of SplitMix64 for each seed: [N] -> [N, count]."""
    return mix(seeds[:, None] + _steps(np.arange(1, count + 1)))


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the output function of SplitMix64, a bijection of 64 bits that changes about half of them."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def uniform_of(values: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the highest bits as numbers in [0, 1)."""
    return (values >> np.uint64(64 - BITS)).astype(np.float64) * 2.0**-BITS


def integers_of(uniform: NDArray[np.float64], bounds: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Return integers in [0, bound) from uniform numbers; each bound far below 2**53."""
    return (uniform * bounds).astype(np.int64)


def _steps(counts: NDArray[np.int64]) -> NDArray[np.uint64]:
    return counts.astype(np.uint64) * np.uint64(GAMMA)
