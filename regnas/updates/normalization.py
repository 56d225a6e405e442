"""The normalization statistics that a network was trained with, as a configuration states them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import PlainValidator

from regnas.data import Preprocessing
from regnas.data.preprocessing import IMAGENET

EXPECTED = 'normalization must be "imagenet", "published", or { mean = [0.5], std = [0.25] } with one value per channel'

Published = Literal["published"]  # those of the published weights of the network


def parse_normalization(value: object) -> Preprocessing | Published:
    """Return the statistics for a name, or for a table with ``mean`` and ``std``."""
    if value == "imagenet":
        return IMAGENET
    if value == "published":
        return "published"
    if not isinstance(value, Mapping) or value.keys() != {"mean", "std"}:
        raise ValueError(EXPECTED)
    return Preprocessing(_numbers(value["mean"]), _numbers(value["std"]))


def _numbers(values: object) -> tuple[float, ...]:
    if not isinstance(values, list | tuple) or not all(type(each) in (int, float) for each in values):
        raise ValueError(EXPECTED)
    return tuple(float(each) for each in values)


Normalization = Annotated[Preprocessing | Published, PlainValidator(parse_normalization)]
