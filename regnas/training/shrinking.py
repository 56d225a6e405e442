"""Progressive shrinking: the part of a space that a step draws from grows with the training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from regnas.components.registry import Registry
from regnas.space import SearchSpace


class Shrinking(Protocol):
    def check(self, space: SearchSpace) -> None:
        """Refuse with a ``ValueError`` what the space does not have."""
        ...

    def phase(self, progress: float) -> int: ...

    def space(self, whole: SearchSpace, phase: int) -> SearchSpace: ...


@dataclass(frozen=True)
class WholeSpace:
    """All of the space from the first step."""

    def check(self, space: SearchSpace) -> None:
        pass

    def phase(self, progress: float) -> int:
        return 0

    def space(self, whole: SearchSpace, phase: int) -> SearchSpace:
        return whole


@dataclass(frozen=True)
class Progressive:
    """Once-for-all (Cai et al., ICLR 2020): the largest network first, then one elastic dimension after the other.

    ``order`` names the dimensions of the space, such as depth, kernel, expansion. The training up to ``until`` has as
    many equal parts: the first trains the largest network alone, each next one has one more dimension elastic, and from
    ``until`` on all of them are.
    """

    order: tuple[str, ...]
    until: float = 0.6

    def __post_init__(self) -> None:
        if not self.order or len(set(self.order)) < len(self.order):
            raise ValueError("order must name the elastic dimensions, each once")
        if not 0 < self.until <= 1:
            raise ValueError("until is a part of the training: 0 < until <= 1")

    def check(self, space: SearchSpace) -> None:
        if set(self.order) != space.dimensions:
            wanted = ", ".join(sorted(space.dimensions))
            raise ValueError(f"order must name all that is elastic ({wanted}), not {', '.join(self.order)}")

    def phase(self, progress: float) -> int:
        """How many dimensions are elastic."""
        return min(len(self.order), int(progress / self.until * len(self.order)))

    def space(self, whole: SearchSpace, phase: int) -> SearchSpace:
        return whole.elastic_in(frozenset(self.order[:phase]))


SHRINKINGS: Registry[type[Shrinking]] = Registry(
    "shrinking", "regnas.shrinkings", {"none": WholeSpace, "progressive": Progressive}
)
