"""Compare candidates under a limit on flips, by constraint domination.

A candidate is feasible if its NFR against every reference is at most the limit. Feasible candidates come before
infeasible ones. Of two infeasible candidates, the one with the smaller violation is better; of two feasible ones, the
one with the higher reward (Deb et al., IEEE Transactions on Evolutionary Computation, 2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from regnas.search.rewards import Measures

Standing = tuple[float, float]  # violation, then -reward: the best sorts first


class Judged(Protocol):
    """A candidate with its violation and its reward."""

    @property
    def violation(self) -> float: ...

    @property
    def reward(self) -> float: ...


def excess_over(max_nfr: float | None, measures: Measures) -> float | None:
    """Return the highest NFR minus the limit; None without a limit or without references."""
    if max_nfr is None or not measures.nfr:
        return None
    return max(measures.nfr.values()) - max_nfr


def violation_of(excess: float | None) -> float:
    """Return the excess, or 0 if the limit is met or does not exist."""
    return 0.0 if excess is None else max(0.0, excess)


def standing(candidate: Judged) -> Standing:
    """Return a key that sorts candidates by constraint domination, the best first."""
    return candidate.violation, -candidate.reward


def comparable_rewards(told: Sequence[Judged]) -> list[float]:
    """Return one number per candidate, in the order of constraint domination; the rewards if all are feasible.

    These numbers are for algorithms that use only the order.
    """
    if all(candidate.violation == 0 for candidate in told):
        return [candidate.reward for candidate in told]
    places = {own: place for place, own in enumerate(sorted({standing(candidate) for candidate in told}))}
    return [-float(places[standing(candidate)]) for candidate in told]
