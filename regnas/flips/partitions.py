"""Samples divided by class or by slice, and their clusters within each part."""

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
    """The intersections of clusters and parts: a cell is the samples of one cluster in one part.

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
        """Return the sum over each cell of the values of these samples, by default 1 each: [M]. Other samples are 0."""
        return np.bincount(self.cell_of[samples], values, minlength=len(self.sizes)).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Partition:
    """N samples in V parts.

    values: the names of the parts
    part_of: [N], the part of each sample
    samples: [V]
    cells: None if each sample is its own cluster
    """

    values: tuple[Any, ...]
    part_of: Counts
    samples: Counts
    cells: Cells | None

    @classmethod
    def of(cls, labels: NDArray[Any], groups: Counts | None) -> Partition:
        """Divide the samples by their labels [N], sorted."""
        values, part_of = distinct(labels)
        samples = np.bincount(part_of, minlength=len(values))
        return cls(tuple(values.tolist()), part_of, samples, None if groups is None else _cells(part_of, groups))

    @classmethod
    def whole(cls, samples: int, groups: Counts | None) -> Partition:
        """Return all samples in one part."""
        return cls.of(np.zeros(samples, dtype=np.int64), groups)

    def count(self, samples: Counts) -> Counts:
        """Return how many of these samples, given by index, are in each part: [V]."""
        return np.bincount(self.part_of[samples], minlength=len(self.samples))

    def independent(self, samples: Counts, values: Floats | None = None, level: float = LEVEL) -> Floats:
        """Return the effective number of samples of a mean over each part: [V].

        The mean is of values that these samples have and that are 0 for all others; by default 1, for a rate.
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
