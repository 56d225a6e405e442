"""Samples sorted by class, by slice or not at all, with what their clusters leave of each part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.flips.closed_forms import LEVEL, Floats, independent_samples
from regnas.flips.ordering import distinct

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """What the clusters and the parts have in common: a cell is the samples of one cluster in one part.

    cell_of: [N], the cell of each sample
    sizes: [M], samples of each cell
    clusters: [V], cells of each part
    squares: [V], sum of the squared sizes of the cells of each part
    """

    cell_of: Counts
    sizes: Floats
    clusters: Counts
    squares: Floats

    def totals(self, samples: Counts, values: Floats | None = None) -> Floats:
        """[M], the sum over each cell of values that these samples have and all others lack; by default 1 each."""
        return np.bincount(self.cell_of[samples], values, minlength=len(self.sizes)).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Partition:
    """N samples in V parts.

    values: what the parts are called
    part_of: [N], the part of each sample
    samples: [V]
    cells: None where each sample is its own cluster
    """

    values: tuple[Any, ...]
    part_of: Counts
    samples: Counts
    cells: Cells | None

    @classmethod
    def of(cls, labels: NDArray[Any], groups: Counts | None) -> Partition:
        """The parts are the different labels [N], sorted."""
        values, part_of = distinct(labels)
        samples = np.bincount(part_of, minlength=len(values))
        return cls(tuple(values.tolist()), part_of, samples, None if groups is None else _cells(part_of, groups))

    @classmethod
    def whole(cls, samples: int, groups: Counts | None) -> Partition:
        """All samples in one part."""
        return cls.of(np.zeros(samples, dtype=np.int64), groups)

    def count(self, samples: Counts) -> Counts:
        """[V], how many of the samples with these numbers are in each part."""
        return np.bincount(self.part_of[samples], minlength=len(self.samples))

    def independent(self, samples: Counts, values: Floats | None = None, level: float = LEVEL) -> Floats:
        """[V], how many independent samples a mean over each part stands on.

        The mean is of a value that these samples have and that is 0 for all others; by default 1, so that it is a rate.
        """
        if self.cells is None:
            return self.samples.astype(np.float64)
        values = np.ones(len(samples)) if values is None else values
        parts, hit = self.part_of[samples], self.cells.cell_of[samples]
        means = self._sums(parts, values) / self.samples
        within = self._sums(parts, values**2) - self.samples * means**2
        # sum_g (y_g - p m_g)^2 = sum y_g^2 - 2 p sum y_g m_g + p^2 sum m_g^2, the first two summed over the samples
        squares = self._sums(parts, values * self.cells.totals(samples, values)[hit])
        products = self._sums(parts, values * self.cells.sizes[hit])
        between = squares - 2 * means * products + means**2 * self.cells.squares
        sizes = self.cells.squares / self.samples
        return independent_samples(self.samples, self.cells.clusters, sizes, within, between, level)

    def _sums(self, parts: Counts, values: Floats) -> Floats:
        return np.bincount(parts, values, minlength=len(self.samples)).astype(np.float64, copy=False)


def _cells(part_of: Counts, groups: Counts) -> Cells:
    labels, cluster_of = distinct(groups)
    found, cell_of = distinct(part_of * len(labels) + cluster_of)
    sizes = np.bincount(cell_of).astype(np.float64)
    parts = found // len(labels)
    squares = np.bincount(parts, sizes**2).astype(np.float64, copy=False)
    return Cells(cell_of, sizes, np.bincount(parts), squares)
