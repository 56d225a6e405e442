"""Every model against every other: flips, intervals, tests, and where the flips are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.joining import Joined
from regnas.flips import FlipTable, count_clusters, flip_table_from_correctness, pair_statistics
from regnas.flips.paired import Bounds, Flips
from regnas.flips.partitions import Partition

# Of more classes than this only those that regressed most are listed.
MOST_PARTS = 1000


@dataclass(frozen=True)
class Part:
    """The samples of one class or one slice."""

    value: str | int
    samples: int
    negative_flips: int
    positive_flips: int
    nfr: float
    nfr_interval: Bounds
    pfr: float


@dataclass(frozen=True)
class Breakdown:
    """The classes, or the values of a slice column, those first that surely regressed most.

    They are sorted by the lower end of the interval, so that one sample that flipped does not lead; among equal ones by
    the rate, and then by value.
    """

    parts: tuple[Part, ...]
    left_out: int


@dataclass(frozen=True)
class Pair:
    """A reference and what replaces it."""

    reference: str
    new: str
    reference_error_rate: float
    new_error_rate: float
    negative_flips: int
    positive_flips: int
    nfr: float
    nfr_interval: Bounds
    pfr: float
    relative_nfr: float
    accuracy_difference: float
    accuracy_difference_interval: Bounds
    mcnemar_p: float
    mcnemar_p_corrected: float
    classes: Breakdown
    slices: Mapping[str, Breakdown]


@dataclass(frozen=True, eq=False)
class Comparison:
    """All ordered pairs of the models.

    clusters: how many independent ones the samples come in
    left_out: columns that are no slices, with the reason
    """

    table: FlipTable
    clusters: int
    pairs: tuple[Pair, ...]
    left_out: Mapping[str, str]

    @property
    def models(self) -> tuple[str, ...]:
        return self.table.models

    @property
    def error_rates(self) -> tuple[float, ...]:
        """Of the models, each a ratio of counts."""
        return error_rates(self.table)

    def pair(self, reference: str, new: str) -> Pair:
        return next(each for each in self.pairs if (each.reference, each.new) == (reference, new))

    @property
    def successive(self) -> tuple[Pair, ...]:
        """Each model against the one before it, in the order given."""
        return tuple(self.pair(old, new) for old, new in zip(self.models, self.models[1:], strict=False))


def compare(joined: Joined) -> Comparison:
    """Compare every two of the joined models."""
    table = flip_table_from_correctness(joined.models, joined.correct)
    errors = error_rates(table)
    by_class = Partition.of(class_labels(joined), joined.groups)
    by_slice = {name: Partition.of(labels, joined.groups) for name, labels in joined.slices.items()}
    statistics = pair_statistics(joined.correct, joined.groups)

    def pair(row: int, column: int) -> Pair:
        found = statistics[row, column]
        change = found.flips
        return Pair(
            reference=joined.models[row],
            new=joined.models[column],
            reference_error_rate=errors[row],
            new_error_rate=errors[column],
            negative_flips=len(change.lost),
            positive_flips=len(change.gained),
            nfr=found.nfr,
            nfr_interval=found.nfr_interval,
            pfr=found.pfr,
            relative_nfr=float(table.relative_nfr[row, column]),
            accuracy_difference=found.accuracy_difference,
            accuracy_difference_interval=found.accuracy_difference_interval,
            mcnemar_p=found.mcnemar_p,
            mcnemar_p_corrected=found.mcnemar_p_corrected,
            classes=breakdown(by_class, change),
            slices={name: breakdown(each, change) for name, each in by_slice.items()},
        )

    pairs = tuple(pair(row, column) for row, column in permutations(range(len(joined.models)), 2))
    return Comparison(table, count_clusters(joined.groups, joined.samples), pairs, joined.left_out)


def error_rates(table: FlipTable) -> tuple[float, ...]:
    """Counted again rather than 1 - accuracy, so that 47 of 900 is the number nearest to 47 / 900."""
    wrong = table.samples - np.rint(table.accuracy * table.samples)
    return tuple((wrong / table.samples).tolist())


def class_labels(joined: Joined) -> NDArray[Any]:
    """[N], the class of each sample, by name where there are names."""
    return joined.targets if joined.classes is None else np.array(joined.classes)[joined.targets]


def breakdown(partition: Partition, flips: Flips) -> Breakdown:
    negative, positive = partition.count(flips.lost), partition.count(flips.gained)
    bounds = flips.nfr_intervals(partition)
    rates = negative / partition.samples
    order = sorted(range(len(rates)), key=lambda place: (-bounds[place][0], -rates[place], place))
    parts = tuple(
        Part(
            value=partition.values[place],
            samples=int(partition.samples[place]),
            negative_flips=int(negative[place]),
            positive_flips=int(positive[place]),
            nfr=float(rates[place]),
            nfr_interval=bounds[place],
            pfr=float(positive[place] / partition.samples[place]),
        )
        for place in order[:MOST_PARTS]
    )
    return Breakdown(parts, len(order) - len(parts))
