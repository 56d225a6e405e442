"""The facts about the samples that do not depend on the models: their ids and their targets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.classes import encode, numbers
from regnas.comparison.files.columns import TARGET, Coded, Column
from regnas.errors import ArtifactError
from regnas.flips.predictions import examples


@dataclass(frozen=True, eq=False)
class Samples:
    """Ids and targets that hold for every model.

    ids: [N]; None: not known yet
    target: [N], in the order of ``ids``, or of the first model if ``ids`` is None; None: every model has its own
    naming: where the ids come from: given by the caller, from the first model, or the rows of the first model
    """

    ids: NDArray[Any] | None = None
    target: Column | None = None
    naming: Literal["unknown", "given", "ids", "rows"] = "unknown"

    def after(self, first_ids: NDArray[Any], named: bool) -> Samples:
        """Return the facts after the first model is read; the order is that of its samples unless ids were given."""
        if self.naming == "given":
            return self
        return replace(self, ids=first_ids, naming="ids" if named else "rows")

    def name_rows(self, own: NDArray[Any] | None, rows: int, where: str) -> NDArray[Any]:
        """Return the ids of a model: its own, those of the caller, or its row numbers."""
        if own is not None:
            if self.naming == "rows":
                raise ArtifactError(
                    f"{where} must have no ids, like the first model, got some. Pass ids= for models without ids."
                )
            return own
        if self.naming == "ids":
            raise ArtifactError(
                f"{where} must have ids, like the first model, got none. Pass ids= for models without ids."
            )
        if self.ids is None:
            return np.arange(rows)
        if len(self.ids) != rows:
            expected = "like ids" if self.naming == "given" else "like the first model"
            raise ArtifactError(f"{where} must have {len(self.ids):,} samples {expected}, got {rows:,}")
        return self.ids

    def target_of(self, ids: NDArray[Any], own: Column | None, where: str) -> Column:
        """Return the targets in the order of ``ids``; targets of the model, if any, must be the same."""
        if self.target is None:
            assert own is not None  # the columns are checked before
            return own
        if self.naming == "given" and length(self.target) != len(self.ids if self.ids is not None else ids):
            raise ArtifactError(f"target must have one value per id, got {length(self.target):,} for {len(ids):,} ids")
        if self.naming == "unknown" and length(self.target) != len(ids):
            raise ArtifactError(f"{where} must have {length(self.target):,} samples like target, got {len(ids):,}")
        known = np.arange(len(ids)) if self.ids is None else locate(self.ids, ids, where)
        given = take(self.target, known)
        if own is not None:
            _refuse_other_targets(given, own, ids, where)
        return given


UNKNOWN = Samples()


def length(column: Column) -> int:
    """Return the number of samples of a column."""
    return len(column.codes if isinstance(column, Coded) else column)


def take(column: Column, position: NDArray[np.int64]) -> Column:
    """Return the values at these positions, in this order."""
    return Coded(column.codes[position], column.values) if isinstance(column, Coded) else column[position]


def locate(known: NDArray[Any], wanted: NDArray[Any], where: str) -> NDArray[np.int64]:
    """Return the place of each of the ids ``wanted`` [N] in ``known`` [N]; both must hold the same ids."""
    if known is wanted or np.array_equal(known, wanted):
        return np.arange(len(known))
    if known.dtype.kind != wanted.dtype.kind:
        known, wanted = known.astype(np.str_), wanted.astype(np.str_)
    order = np.argsort(known)
    place = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    unknown = wanted[known[place] != wanted]
    if len(unknown) or len(known) != len(wanted):
        lacking = np.setdiff1d(known, wanted)
        which, count = (unknown, "has {:,} ids that are not") if len(unknown) else (lacking, "lacks {:,} ids that are")
        raise ArtifactError(f"{where} {count.format(len(which))} among the {len(known):,} known: {examples(which)}")
    return place


def _refuse_other_targets(given: Column, own: Column, ids: NDArray[Any], where: str) -> None:
    columns = [encode(given), encode(own)]
    values = [numbers(column, f'{where}: "{TARGET}"') for column in columns]
    if values[0] is None or values[1] is None:
        texts = [each.values[each.codes] if isinstance(each, Coded) else each.astype(np.str_) for each in columns]
        differing = ids[texts[0] != texts[1]]
    else:
        differing = ids[values[0] != values[1]]
    if len(differing):
        raise ArtifactError(
            f'{where}: column "{TARGET}" differs from the given targets on {len(differing):,} of {len(ids):,} samples, '
            f"such as {examples(differing)}"
        )
