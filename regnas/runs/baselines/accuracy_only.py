"""The accuracy-only search of the same supernet, what once-for-all does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from regnas.runs.baselines.sources import Family, Inherited

if TYPE_CHECKING:  # workers that only train need no study
    from regnas.search import FamilySearch


@dataclass(frozen=True)
class AccuracyOnly:
    """Accuracy-only search (R0, no containment) of the same supernet with as many candidates."""

    title: ClassVar[str] = "Accuracy-only search (OFA)"

    def plan(self, search: FamilySearch, family: Family) -> dict[str, Inherited]:
        smallest = next(iter(family.values())).architecture
        return {name: Inherited(architecture) for name, architecture in search.accuracy_only(smallest).items()}
