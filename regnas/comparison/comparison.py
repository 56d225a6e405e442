"""Compare every model with every other: flips, intervals, tests, and the classes and slices that regressed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.breakdowns import Breakdown, Samples, break_down
from regnas.comparison.joining import Joined
from regnas.components.registry import nearest
from regnas.errors import UnknownName
from regnas.flips import FlipTable, PairStatistics, count_clusters, flip_table_from_correctness, pair_statistics
from regnas.flips.paired import Bounds, Flips
from regnas.report.kit.frames import Library
from regnas.runtime.files import write_or_return

Answers = NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Pair:
    """A reference model and a new model that replaces it.

    Rates are fractions of all samples, and intervals are (low, high) at the 95 % level.

    Attributes:
        reference: the name of the reference model, ``new`` that of the new model.
        reference_error_rate: the share of samples that the reference predicts wrongly; ``new_error_rate`` likewise.
        negative_flips: how many samples the reference predicts correctly and the new model does not.
        positive_flips: the opposite.
        nfr: negative flip rate, ``negative_flips`` / samples; ``nfr_interval``: Clopper-Pearson.
        pfr: positive flip rate.
        relative_nfr: nfr / (accuracy of the reference * error rate of the new model); 1 if the errors are independent.
        accuracy_difference: accuracy(new) - accuracy(reference); ``accuracy_difference_interval``: Tango.
        mcnemar_p: the p-value of the exact McNemar test; ``mcnemar_p_corrected``: for all pairs of the table (Holm).

    Example:
        >>> import regnas
        >>> pair = regnas.compare({"old": [0, 1, 1], "new": [0, 0, 1]}, target=[0, 1, 0])["old", "new"]
        >>> pair.negative_flips, pair.negative_flip_ids.tolist()
        (1, [1])
        >>> pair
        Pair(old → new: NFR 33.33 % [0.84, 90.57], PFR 0.00 %, accuracy -33.33 points [-79.23, 41.53])
    """

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
    # A hundred models have ten thousand pairs, so a pair has views of shared arrays and computes the rest on demand.
    correct: tuple[Answers, Answers] = field(compare=False)  # of the reference and of the new model, [N] each
    shared: Samples = field(compare=False)

    @property
    def flips(self) -> Flips:
        """The indices of the samples on which exactly one of the models is correct."""
        return Flips.between(*self.correct)

    @property
    def classes(self) -> Breakdown:
        """Flips by class."""
        return break_down(self.shared.classes, self.flips)

    @property
    def slices(self) -> Mapping[str, Breakdown]:
        """Flips by the value of each slice."""
        flips = self.flips
        return {name: break_down(each, flips) for name, each in self.shared.slices.items()}

    @property
    def negative_flip_ids(self) -> NDArray[Any]:
        """Ids of the samples that the reference predicts correctly and the new model does not.

        Row numbers from 0 if the samples have no ids.
        """
        flipped: NDArray[Any] = self.shared.ids[self.flips.lost]
        return flipped

    @property
    def positive_flip_ids(self) -> NDArray[Any]:
        """Ids of the samples that the new model predicts correctly and the reference does not."""
        flipped: NDArray[Any] = self.shared.ids[self.flips.gained]
        return flipped

    def __repr__(self) -> str:
        from regnas.report.comparison.summaries import pair_summary

        return f"Pair({pair_summary(self)})"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Every ordered pair of the models, as ``regnas.compare`` returns it.

    Attributes:
        table: the rates of all pairs as arrays [K, K].
        clusters: the number of independent clusters of samples; the number of samples if there are no groups.
        pairs: every ordered pair of models, in the order of the models.
        left_out: columns that are not used as slices, with the reason.

    Example:
        >>> import regnas
        >>> comparison = regnas.compare({"old": [0, 1, 1], "new": [0, 0, 1]}, target=[0, 1, 0])
        >>> comparison
        Comparison of 2 models on 3 samples
          old → new: NFR 33.33 % [0.84, 90.57], PFR 0.00 %, accuracy -33.33 points [-79.23, 41.53]
        >>> comparison.models, comparison.error_rates
        (('old', 'new'), (0.3333333333333333, 0.6666666666666666))
        >>> comparison["old", "new"].nfr
        0.3333333333333333
    """

    table: FlipTable
    clusters: int
    pairs: tuple[Pair, ...]
    left_out: Mapping[str, str]

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in the order given."""
        return self.table.models

    @property
    def samples(self) -> int:
        """The number of samples."""
        return self.table.samples

    @property
    def error_rates(self) -> tuple[float, ...]:
        """The error rate of each model."""
        return error_rates(self.table)

    def __getitem__(self, names: tuple[str, str]) -> Pair:
        """Return the pair of a reference and a new model, as in ``comparison["old", "new"]``."""
        found = [each for each in self.pairs if (each.reference, each.new) == names]
        if not found:
            raise UnknownName(self._why_unknown(names))
        return found[0]

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    @property
    def forward(self) -> tuple[Pair, ...]:
        """The pairs from each model to each later one, in the order given."""
        place = {name: number for number, name in enumerate(self.models)}
        return tuple(pair for pair in self.pairs if place[pair.reference] < place[pair.new])

    @property
    def successive(self) -> tuple[Pair, ...]:
        """The pairs from each model to the next, in the order given."""
        return tuple(self[old, new] for old, new in zip(self.models, self.models[1:], strict=False))

    def to_frame(self, by: str | None = None, library: Library = "pandas") -> Any:
        """Return a data frame with one row per ordered pair of models.

        Args:
            by: "class" or the name of a slice: one row per pair and class, or per pair and value of the slice.
            library: "pandas", "polars" or "pyarrow".

        Returns:
            A frame of that library.

        Example:
            >>> import regnas
            >>> comparison = regnas.compare({"old": [0, 1, 1], "new": [0, 0, 1]}, target=[0, 1, 0])
            >>> comparison.to_frame(library="pyarrow").select(["reference", "new", "nfr"]).to_pylist()[0]
            {'reference': 'old', 'new': 'new', 'nfr': 0.3333333333333333}
        """
        from regnas.report.comparison.frames import to_frame

        return to_frame(self, by, library)

    def to_dict(self, ids: bool = False) -> dict[str, Any]:
        """Return plain dictionaries, lists and numbers; with ``ids``, also the ids of the flipped samples."""
        from regnas.report.comparison.objects import comparison_object

        return comparison_object(self, ids)

    def to_json(self, ids: bool = False) -> str:
        """Return the JSON text that ``regnas compare --json`` prints; with ``ids``, as with ``--ids``."""
        from regnas.report.comparison.objects import json_text

        return json_text(self.to_dict(ids))

    def to_markdown(self) -> str:
        """Return the comparison as Markdown."""
        from regnas.report.comparison.tables import markdown

        return markdown(self)

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Write a page that works offline to ``path``; without a path, return it."""
        from regnas.report.comparison.html import html_text

        return write_or_return(html_text(self), path)

    def _repr_html_(self) -> str:
        from regnas.report.comparison.notebook import comparison_table

        return comparison_table(self)

    def __repr__(self) -> str:
        from regnas.report.comparison.summaries import comparison_summary

        return comparison_summary(self)

    def _why_unknown(self, names: object) -> str:
        if not (isinstance(names, tuple) and len(names) == 2):
            return (
                f'a pair must be two names of models, such as ["{self.models[0]}", "{self.models[1]}"], got {names!r}'
            )
        for name in names:
            if name not in self.models:
                return f'no model "{name}"{nearest(str(name), list(self.models))} (models: {", ".join(self.models)})'
        return f'a pair must be two different models, got "{names[0]}" twice'


def compare_joined(joined: Joined) -> Comparison:
    """Compare every two of the joined models."""
    table = flip_table_from_correctness(joined.models, joined.correct)
    errors, shared = error_rates(table), Samples.of(joined)

    def pair(row: int, column: int, found: PairStatistics) -> Pair:
        return Pair(
            reference=joined.models[row],
            new=joined.models[column],
            reference_error_rate=errors[row],
            new_error_rate=errors[column],
            negative_flips=found.negative_flips,
            positive_flips=found.positive_flips,
            nfr=found.nfr,
            nfr_interval=found.nfr_interval,
            pfr=found.pfr,
            relative_nfr=float(table.relative_nfr[row, column]),
            accuracy_difference=found.accuracy_difference,
            accuracy_difference_interval=found.accuracy_difference_interval,
            mcnemar_p=found.mcnemar_p,
            mcnemar_p_corrected=found.mcnemar_p_corrected,
            correct=(joined.correct[row], joined.correct[column]),
            shared=shared,
        )

    statistics = pair_statistics(joined.correct, joined.groups)
    pairs = tuple(pair(*places, statistics[places]) for places in permutations(range(len(joined.models)), 2))
    return Comparison(table, count_clusters(joined.groups, joined.samples), pairs, joined.left_out)


def error_rates(table: FlipTable) -> tuple[float, ...]:
    """Return the error rate of each model, from counts: 1 - accuracy would not be the float nearest to 47 / 900."""
    wrong = table.samples - np.rint(table.accuracy * table.samples)
    return tuple((wrong / table.samples).tolist())
