"""Moments of a training: a number of epochs, such as 5, or a share of the training, such as "10 %"."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import PlainValidator

from regnas.components.rate import parse_rate


def parse_moment(value: object) -> float | str:
    """Check a moment, and return it unchanged."""
    if isinstance(value, str):
        if not value.strip().endswith("%"):
            raise ValueError('a moment must be a number of epochs such as 5, or a share of the training such as "10 %"')
        parse_rate(value)
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError('a moment must be a number of epochs of at least 0, or a share of the training such as "10 %"')
    return value


Moment = Annotated[float | str, PlainValidator(parse_moment)]


def share_at(moment: Moment, epochs: int) -> float:
    """Return the share of a training of this length that is done at the moment.

    Example:
        >>> share_at(5, 20), share_at("10 %", 20)
        (0.25, 0.1)
    """
    return parse_rate(moment) if isinstance(moment, str) else moment / epochs
