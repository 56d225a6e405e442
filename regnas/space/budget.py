"""Compute budgets: a window on multiply-adds."""

from __future__ import annotations

import re
from dataclasses import dataclass

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_NUMBER = r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[kmg]?)"
_WINDOW = re.compile(rf"{_NUMBER}\s*(?:(?:\+-|±)\s*(?P<percent>\d+(?:\.\d+)?)\s*%)?", re.IGNORECASE)
_CEILING = re.compile(rf"<=\s*{_NUMBER}", re.IGNORECASE)

DEFAULT_TOLERANCE_PERCENT = 2.0


@dataclass(frozen=True)
class Budget:
    """The networks with ``min_macs <= MACs <= max_macs``."""

    min_macs: int
    max_macs: int

    @classmethod
    def parse(cls, text: str) -> Budget:
        """``"300M +- 2 %"``, ``"300M"`` (the same: two percent either side) or ``"<= 300M"``."""
        if match := _CEILING.fullmatch(text.strip()):
            return cls(0, _macs(match))
        if match := _WINDOW.fullmatch(text.strip()):
            centre = _macs(match)
            percent = float(match["percent"]) if match["percent"] else DEFAULT_TOLERANCE_PERCENT
            return cls(round(centre * (1 - percent / 100)), round(centre * (1 + percent / 100)))
        raise ValueError(f'"{text}" is no budget: write "300M +- 2 %" or "<= 300M" (units k, M, G; multiply-adds)')

    def __contains__(self, macs: int) -> bool:
        return self.min_macs <= macs <= self.max_macs

    def __str__(self) -> str:
        high = format_macs(self.max_macs)
        return f"at most {high} MACs" if self.min_macs <= 0 else f"{format_macs(self.min_macs)} to {high} MACs"


def format_macs(macs: int) -> str:
    """``1_234_567`` -> ``1.23 M``."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if macs >= size:
            return f"{macs / size:.3g} {unit}" if macs < 1000 * size else f"{macs / size:,.0f} {unit}"
    return str(macs)


def _macs(match: re.Match[str]) -> int:
    return round(float(match["number"]) * _UNITS[match["unit"].lower()])
