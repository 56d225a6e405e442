"""Progressive shrinking: steps draw from a part of the space that grows during training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from regnas.components.registry import Registry
from regnas.space import SearchSpace


class Shrinking(Protocol):
    def check(self, space: SearchSpace) -> None:
        """Raise a ``ValueError`` for dimensions that the space does not have."""
        ...

    def phase(self, progress: float) -> int: ...

    def space(self, whole: SearchSpace, phase: int) -> SearchSpace: ...


@dataclass(frozen=True)
class WholeSpace:
    """Use the whole space from the first step."""

    def check(self, space: SearchSpace) -> None:
        pass

    def phase(self, progress: float) -> int:
        return 0

    def space(self, whole: SearchSpace, phase: int) -> SearchSpace:
        return whole


@dataclass(frozen=True)
class Progressive:
    """Once-for-all (Cai et al., ICLR 2020): the largest network first, then one elastic dimension after the other.

    ``order`` names the dimensions of the space, such as depth, kernel, expansion. The training up to ``until`` has one
    part of equal length per dimension: the first part trains the largest network alone, each further part makes one
    more dimension elastic. After ``until`` all dimensions are elastic.
    """

    order: tuple[str, ...]
    until: float = 0.6

    def __post_init__(self) -> None:
        if not self.order or len(set(self.order)) < len(self.order):
            raise ValueError("order must name the elastic dimensions, each of them once")
        if not 0 < self.until <= 1:
            raise ValueError("until must be a fraction of the training with 0 < until <= 1")

    def check(self, space: SearchSpace) -> None:
        if set(self.order) != space.dimensions:
            wanted = ", ".join(sorted(space.dimensions))
            raise ValueError(f"order must name all elastic dimensions ({wanted}), got {', '.join(self.order)}")

    def phase(self, progress: float) -> int:
        """Return the number of elastic dimensions."""
        return min(len(self.order), int(progress / self.until * len(self.order)))

    def space(self, whole: SearchSpace, phase: int) -> SearchSpace:
        return whole.elastic_in(frozenset(self.order[:phase]))


SHRINKINGS: Registry[type[Shrinking]] = Registry(
    "shrinking", "regnas.shrinkings", {"none": WholeSpace, "progressive": Progressive}
)
