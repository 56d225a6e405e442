"""Read and write rates such as "1 %" or 0.01."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated

from pydantic import PlainValidator


def parse_rate(value: object) -> float:
    """Return the fraction 0.01 for ``"1 %"`` or 0.01; "0.7 %" is exactly the rate of 7 flips in 1000 samples."""
    expected = 'a rate must be a text such as "1 %", or a fraction of at least 0 and below 1, such as 0.01'
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(expected)
    text = str(value).strip()
    try:
        number = Decimal(text.removesuffix("%").strip())
    except InvalidOperation:
        raise ValueError(expected) from None
    if not number.is_finite():
        raise ValueError(expected)
    rate = number / 100 if text.endswith("%") else number
    if not 0 <= rate < 1:
        hint = f'. For {number} percent write "{number} %"' if not text.endswith("%") and 1 <= number < 100 else ""
        raise ValueError(expected + hint)
    return float(rate)


def format_rate(rate: float) -> str:
    """Return "1 %" for 0.01, with as many decimals as the rate has."""
    return f"{100 * rate:.6g} %"


Rate = Annotated[float, PlainValidator(parse_rate)]
