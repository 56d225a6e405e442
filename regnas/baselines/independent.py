"""No treatment: what people do who have not heard of negative flips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from regnas.baselines.sources import Training
from regnas.space import Architecture

if TYPE_CHECKING:  # workers that only train need no study
    from regnas.search import FamilySearch


@dataclass(frozen=True)
class Independent:
    """Independent training: every member on its own, from its own random start."""

    title: ClassVar[str] = "Independent training"

    def plan(self, family: Mapping[str, Architecture], search: FamilySearch) -> dict[str, Training]:
        return {name: Training(architecture) for name, architecture in family.items()}
