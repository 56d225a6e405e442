"""Results as JSON: dataclasses become objects with their fields as keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def json_value(value: Any) -> Any:
    """Convert dataclasses to dictionaries in the order of their fields, and tuples to lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {entry.name: json_value(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, Mapping):
        return {key: json_value(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [json_value(entry) for entry in value]
    return value
