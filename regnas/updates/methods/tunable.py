"""Mark the keys of a method whose best value depends on the data; they can be chosen on the search split.

``weight: float = tunable(1.0)`` is a key that a configuration may set to a number or to "auto".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from regnas.components.builder import TUNABLE

Chosen = dict[str, dict[str, float]]  # by the label of a method and its key
STEPS = (1.0, 3.0)  # of each power of ten


@dataclass(frozen=True)
class Grid:
    """The values that are tried first; beyond them, the grid continues along a ladder up to the bounds ``within``.

    The ladder is ..., 0.1, 0.3, 1, 3, 10, .... For a ``share``, which is a number between 0 and 1, it is 0.01, 0.03,
    0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99, ...: logarithmic toward both ends.
    """

    first: tuple[float, ...]
    within: tuple[float, float]
    share: bool = False

    def above(self, value: float) -> float | None:
        """Return the next rung above a value; None at the end of the ladder."""
        rung = next(rung for rung in self._ladder() if rung > value * (1 + 1e-9))
        return rung if rung <= self.within[1] * (1 + 1e-9) else None

    def below(self, value: float) -> float | None:
        """Return the next rung below a value; None at the end of the ladder."""
        rung = next(rung for rung in reversed(self._ladder()) if rung < value * (1 - 1e-9))
        return rung if rung >= self.within[0] * (1 - 1e-9) else None

    def _ladder(self) -> list[float]:
        low, high = (math.floor(math.log10(bound)) for bound in self.within)
        if not self.share:
            return [float(f"{step}e{power}") for power in range(low - 1, high + 2) for step in STEPS]
        small = [float(f"{step}e{power}") for power in range(low - 1, 0) for step in STEPS]
        return [*small, 0.5, *(round(1 - rung, 12) for rung in reversed(small))]


WEIGHTS = Grid((0.03, 0.1, 0.3, 1.0), within=(1e-3, 100.0))
SHARES = Grid((0.3, 0.5, 0.7, 0.9), within=(0.01, 0.99), share=True)


def tunable(default: float, grid: Grid = WEIGHTS) -> Any:
    """Declare a field of a method whose value can be chosen on the search split."""
    return field(default=default, metadata={TUNABLE: grid})


def grids_of(method: Any) -> dict[str, Grid]:
    """Return the tunable keys of a method, or of its class, with their grids."""
    return {entry.name: entry.metadata[TUNABLE] for entry in fields(method) if TUNABLE in entry.metadata}


def check_chosen(chosen: Chosen, methods: Mapping[str, Any], section: str) -> None:
    """Raise ``ValueError`` for a choice of a key that cannot be chosen."""
    for label, values in chosen.items():
        if label not in methods:
            raise ValueError(f"chosen.{label}: there is no {section}.{label}")
        for key in values:
            if key not in (known := grids_of(methods[label])):
                raise ValueError(f"chosen.{label}.{key}: {label} has no such key to choose (it has {', '.join(known)})")
