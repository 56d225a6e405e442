"""Compute budgets: a window on multiply-adds, and limits on parameters and latency."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_NUMBER = r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[kmg]?)"
_WINDOW = re.compile(rf"{_NUMBER}\s*(?:(?:\+-|±)\s*(?P<percent>\d+(?:\.\d+)?)\s*%)?", re.IGNORECASE)
_CEILING = re.compile(rf"<=\s*{_NUMBER}", re.IGNORECASE)
_PARAMETERS = re.compile(rf"<=\s*{_NUMBER}\s*param(?:eter)?s", re.IGNORECASE)
_LATENCY = re.compile(r"<=\s*(?P<number>\d+(?:\.\d+)?)\s*ms", re.IGNORECASE)

DEFAULT_TOLERANCE_PERCENT = 2.0
UNLIMITED = 2**62


class Cost(NamedTuple):
    """The cost of a network, or a part of it, per image; ``latency`` in milliseconds, if a table has it."""

    macs: int
    parameters: int
    latency: float = 0.0

    def plus(self, other: Cost) -> Cost:
        """Return the sum of two costs."""
        return Cost(self.macs + other.macs, self.parameters + other.parameters, self.latency + other.latency)


@dataclass(frozen=True)
class Budget:
    """Networks with ``min_macs <= MACs <= max_macs``, up to ``max_parameters`` and ``max_latency`` milliseconds."""

    min_macs: int
    max_macs: int
    max_parameters: int | None = None
    max_latency: float | None = None

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Parse ``"300M +- 2 %"``, ``"300M"`` (the same: two percent on either side) or ``"<= 300M"`` multiply-adds.

        Other limits follow after a comma, or stand alone: ``"<= 5M parameters"`` and ``"<= 12 ms"``.
        """
        budget = cls(0, UNLIMITED)
        limited: set[str] = set()
        for part in text.split(","):
            budget, resource = budget._limited(part.strip(), text)
            if resource in limited:
                raise ValueError(f'a budget must limit {resource} once, got "{text}"')
            limited.add(resource)
        return budget

    def _limited(self, part: str, text: str) -> tuple[Budget, str]:
        if match := _PARAMETERS.fullmatch(part):
            return replace(self, max_parameters=_count(match)), "parameters"
        if match := _LATENCY.fullmatch(part):
            return replace(self, max_latency=float(match["number"])), "latency"
        if match := _CEILING.fullmatch(part):
            return replace(self, max_macs=_count(match)), "MACs"
        if match := _WINDOW.fullmatch(part):
            center = _count(match)
            percent = float(match["percent"]) if match["percent"] else DEFAULT_TOLERANCE_PERCENT
            low, high = round(center * (1 - percent / 100)), round(center * (1 + percent / 100))
            return replace(self, min_macs=low, max_macs=high), "MACs"
        raise ValueError(
            f'a budget must be "300M +- 2 %" or "<= 300M" (multiply-adds; units k, M, G), with "<= 5M parameters" or '
            f'"<= 12 ms" after a comma, got "{text}"'
        )

    def __contains__(self, cost: Cost) -> bool:
        return (
            self.min_macs <= cost.macs <= self.max_macs
            and (self.max_parameters is None or cost.parameters <= self.max_parameters)
            and (self.max_latency is None or cost.latency <= self.max_latency)
        )

    def exceeds(self, smaller: Budget) -> bool:
        """Whether it allows a larger network than ``smaller``: some limit is higher, and none is lower."""
        pairs = [
            (self.max_macs, smaller.max_macs),
            (self.max_parameters or UNLIMITED, smaller.max_parameters or UNLIMITED),
            (self.max_latency or UNLIMITED, smaller.max_latency or UNLIMITED),
        ]
        return any(own > other for own, other in pairs) and all(own >= other for own, other in pairs)

    def __str__(self) -> str:
        parts = []
        if self.max_macs < UNLIMITED:
            low = f"{format_macs(self.min_macs)} to" if self.min_macs > 0 else "at most"
            parts.append(f"{low} {format_macs(self.max_macs)} MACs")
        if self.max_parameters is not None:
            parts.append(f"at most {format_macs(self.max_parameters)} parameters")
        if self.max_latency is not None:
            parts.append(f"at most {self.max_latency:g} ms")
        return ", ".join(parts)


def format_macs(macs: int) -> str:
    """Return "1.23 M" for 1_234_567."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if macs >= size:
            return f"{macs / size:.3g} {unit}" if macs < 1000 * size else f"{macs / size:,.0f} {unit}"
    return str(macs)


def _count(match: re.Match[str]) -> int:
    return round(float(match["number"]) * _UNITS[match["unit"].lower()])
