"""The content of a value, for digests: two values of the same content are the same model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from regnas.space import Architecture


def content_of(value: Any, inner: Callable[[Any], Any | None] = lambda _: None) -> Any:
    """Return a JSON value with the names of the classes and all fields; ``inner`` may replace a part by its digest.

    A class that replaced a plain value keeps it as ``content_of_default``, the content of its default.
    """
    replaced = inner(value)
    if replaced is not None:
        return replaced
    if isinstance(value, Architecture):
        return {"Architecture": value.to_json()}
    if is_dataclass(value) and not isinstance(value, type):
        former = getattr(type(value), "content_of_default", None)
        if former is not None and value == type(value)():
            return former
        told = [entry for entry in fields(value) if entry.init and _counts(entry, getattr(value, entry.name))]
        held = {_name(entry): _content_of_field(entry, getattr(value, entry.name), inner) for entry in told}
        return {getattr(type(value), "content_name", type(value).__name__): held}
    if isinstance(value, Mapping):
        return {str(key): content_of(entry, inner) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [content_of(entry, inner) for entry in value]
    return value


def _content_of_field(entry: Field[Any], value: Any, inner: Callable[[Any], Any | None]) -> Any:
    """Return the content of a field; a field whose type has changed keeps the former ``content_of_default``."""
    if "content_of_default" in entry.metadata and value == entry.default:
        return entry.metadata["content_of_default"]
    return content_of(value, inner)


def _name(entry: Field[Any]) -> str:
    """Return the name of a field in the content.

    A field or class that is renamed keeps its former ``content_name``, so that trainings keep their random draws.
    """
    return str(entry.metadata.get("content_name", entry.name))


def _counts(entry: Field[Any], value: Any) -> bool:
    """Whether a field is part of the content: always, never, or only if it differs from its default."""
    counts = entry.metadata.get("content", True)
    if counts != "unless default":
        return bool(counts)
    default = entry.default if entry.default_factory is MISSING else entry.default_factory()
    return bool(value != default)
