"""Check the fields of losses; a wrong value is a ``ValueError`` with its name and value."""

from __future__ import annotations

import math


def require_positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:  # written so that nan is refused too
            raise ValueError(f"{name} must be above 0 and finite, got {value}")


def require_not_negative(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value < math.inf:
            raise ValueError(f"{name} must be 0 or above and finite, got {value}")
