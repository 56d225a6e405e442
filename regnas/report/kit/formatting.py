"""How numbers are written: rates are fractions in JSON and percent, with two decimals, wherever people read them."""

from __future__ import annotations

from collections.abc import Sequence

from regnas.space import format_macs


def percent(rate: float) -> str:
    """``0.0123`` -> ``1.23``; the sign % stands in the header."""
    # + 0.0 turns a negative zero into zero: "-0.00" would look like a difference
    return f"{round(100 * rate, 2) + 0.0:.2f}"


def signed_percent(rate: float) -> str:
    """``0.0123`` -> ``+1.23``, for differences in percentage points."""
    return f"{round(100 * rate, 2) + 0.0:+.2f}"


def percent_interval(bounds: Sequence[float]) -> str:
    """``(0.01, 0.02)`` -> ``[1.00, 2.00]``."""
    low, high = bounds
    return f"[{percent(low)}, {percent(high)}]"


def training_cost(macs: int) -> str:
    """Multiply-adds of a training, far beyond those of a network: ``3.1 T``; 0 if others trained the weights."""
    for unit, size in (("E", 10**18), ("P", 10**15), ("T", 10**12)):
        if macs >= size:
            return f"{macs / size:.3g} {unit}"
    return format_macs(macs) if macs else "imported"


def p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
