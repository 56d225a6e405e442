"""Rewards that a search maximizes (REG-NAS: Duggal et al., ECCV 2022), measured on the search split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from regnas.components.registry import Registry


@dataclass(frozen=True)
class Measures:
    """The accuracy of a candidate, and its negative flip rate against each reference, by name."""

    top1: float
    nfr: dict[str, float]

    @property
    def mean_nfr(self) -> float:
        return sum(self.nfr.values()) / len(self.nfr) if self.nfr else 0.0


class Reward(Protocol):
    """Maps the measures of a candidate to the number that a search maximizes."""

    def __call__(self, measures: Measures) -> float: ...


@dataclass(frozen=True)
class TopOne:
    """R0 = Top-1, the reward of once-for-all."""

    def __call__(self, measures: Measures) -> float:
        return measures.top1


@dataclass(frozen=True)
class FewestFlips:
    """R1 = -NFR, the mean over the smaller members of the family."""

    def __call__(self, measures: Measures) -> float:
        return -measures.mean_nfr


@dataclass(frozen=True)
class TopOneAndFlips:
    """R2 = l1 * Top-1 - l2 * NFR, the reward of REG-NAS."""

    l1: float = 1.0
    l2: float = 1.0

    def __call__(self, measures: Measures) -> float:
        return self.l1 * measures.top1 - self.l2 * measures.mean_nfr


REWARDS: Registry[type[Reward]] = Registry(
    "reward", "regnas.rewards", {"R0": TopOne, "R1": FewestFlips, "R2": TopOneAndFlips}
)
