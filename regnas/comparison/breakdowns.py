"""Flips between two models by class, or by the value of a slice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.joining import Joined
from regnas.flips.paired import Bounds, Flips
from regnas.flips.partitions import Partition

# If there are more classes, only those that regressed most are listed.
MOST_PARTS = 1000


@dataclass(frozen=True)
class Part:
    """The samples of one class or of one value of a slice."""

    value: str | int
    samples: int
    negative_flips: int
    positive_flips: int
    nfr: float
    nfr_interval: Bounds
    pfr: float


@dataclass(frozen=True)
class Breakdown:
    """Flips by class, or by the value of a slice; the parts that regressed most come first.

    The parts are sorted by the lower end of the interval, so that a single flipped sample does not come first, then by
    the rate, then by value.

    left_out: the number of further parts
    """

    parts: tuple[Part, ...]
    left_out: int


@dataclass(frozen=True, eq=False)
class Samples:
    """The samples that all pairs of a comparison share, with their classes and slices.

    ids: [N]
    """

    ids: NDArray[Any]
    classes: Partition
    slices: Mapping[str, Partition]

    @classmethod
    def of(cls, joined: Joined) -> Samples:
        """Divide the samples by class and by each slice."""
        slices = {name: Partition.of(labels, joined.groups) for name, labels in joined.slices.items()}
        return cls(joined.ids, Partition.of(class_labels(joined), joined.groups), slices)


def class_labels(joined: Joined) -> NDArray[Any]:
    """Return the class of each sample [N], by name if there are names."""
    return joined.targets if joined.classes is None else np.array(joined.classes)[joined.targets]


def break_down(partition: Partition, flips: Flips, most: int = MOST_PARTS) -> Breakdown:
    """Return the flips in the ``most`` parts that regressed most."""
    negative, positive = partition.count(flips.lost), partition.count(flips.gained)
    low, high = flips.nfr_intervals(partition)
    rates = negative / partition.samples
    order = np.lexsort((-rates, -low))[:most]  # stable: parts that are equal stay sorted by value
    parts = tuple(
        Part(
            value=partition.values[place],
            samples=int(partition.samples[place]),
            negative_flips=int(negative[place]),
            positive_flips=int(positive[place]),
            nfr=float(rates[place]),
            nfr_interval=(float(low[place]), float(high[place])),
            pfr=float(positive[place] / partition.samples[place]),
        )
        for place in order.tolist()
    )
    return Breakdown(parts, len(rates) - len(parts))
