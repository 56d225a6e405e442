"""The format of numbers: rates are fractions in JSON, and percent with two decimals in all texts."""

from __future__ import annotations

from collections.abc import Sequence

from regnas.space import format_macs


def percent(rate: float) -> str:
    """Return a rate in percent: ``0.0123`` -> ``1.23``; the sign % is in the header."""
    # + 0.0 turns a negative zero into zero: "-0.00" would look like a difference
    return f"{round(100 * rate, 2) + 0.0:.2f}"


def signed_percent(rate: float) -> str:
    """Return a difference in percentage points: ``0.0123`` -> ``+1.23``."""
    return f"{round(100 * rate, 2) + 0.0:+.2f}"


def percent_interval(bounds: Sequence[float]) -> str:
    """Return an interval in percent: ``(0.01, 0.02)`` -> ``[1.00, 2.00]``."""
    low, high = bounds
    return f"[{percent(low)}, {percent(high)}]"


def training_cost(macs: int) -> str:
    """Return the multiply-adds of a training with a unit, such as ``3.1 T``; "imported" for 0."""
    for unit, size in (("E", 10**18), ("P", 10**15), ("T", 10**12)):
        if macs >= size:
            return f"{macs / size:.3g} {unit}"
    return format_macs(macs) if macs else "imported"


def p_value(value: float) -> str:
    """Return a p-value with three decimals."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
