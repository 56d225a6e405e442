"""Build components from TOML tables: ``{"name": "R2", "l2": 2.0}`` becomes ``TopOneAndFlips(l2=2.0)``.

A component is a frozen dataclass whose fields are its keys. The builder collects all problems of a table, each with its
place and the nearest valid key.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from regnas.components.paths import PATH, Anchors
from regnas.components.registry import Registry, nearest
from regnas.errors import ConfigurationError

AUTO = "auto"  # the value of a key that is chosen on the search split
TUNABLE = "tunable"  # in the metadata of a field: the grid of a key that can be "auto"
SHORT = "short"
# The metadata of a key that holds a component: the text "cosine" is short for { name = "cosine" }.
IS_SHORT: Mapping[str, Any] = {SHORT: True}


def auto_keys(tables: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the keys that are "auto", by the label of the component."""
    found = {
        label: tuple(key for key, value in table.items() if value == AUTO)
        for label, table in tables.items()
        if isinstance(table, Mapping)
    }
    return {label: keys for label, keys in found.items() if keys}


@dataclass
class Builder:
    """Builds components; ``registries`` maps the protocol of a field to the components that it may have."""

    registries: Mapping[Any, Registry[Any]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    anchors: Anchors | None = None  # of relative paths; None: they stay relative

    def component(self, protocol: Any, table: Any, where: str) -> Any:
        """Build a component from a table with a ``name``; return None after a problem."""
        registry = self.registries[protocol]
        if not isinstance(table, Mapping):
            return self._problem(f'{where} must be a table such as {{ name = "{next(iter(registry), "...")}" }}')
        if "name" not in table:
            return self._problem(f"{where}.name is missing (known: {', '.join(sorted(registry))})")
        rest = {key: value for key, value in table.items() if key != "name"}
        return self.named(protocol, table["name"], rest, where)

    def named(self, protocol: Any, name: Any, table: Any, where: str) -> Any:
        """Build the component of this name; return None after a problem."""
        try:
            part = self.registries[protocol][str(name)]
        except ConfigurationError as error:
            return self._problem(f"{where}: {error}")
        return self.record(part, table, where)

    def record(self, kind: type[Any], table: Any, where: str) -> Any:
        """Build a dataclass from a table whose keys are its fields; return None after a problem."""
        if not isinstance(table, Mapping):
            return self._problem(f"{where} must be a table")
        before = len(self.problems)
        hints = get_type_hints(kind, include_extras=True)
        known = {entry.name: entry for entry in fields(kind) if entry.init}
        for key in table:
            if key not in known:
                remedy = getattr(kind, "former_keys", {}).get(key)
                hint = f". {remedy}" if remedy else nearest(key, list(known))
                self._problem(f"{_join(where, key)} is not a known key{hint}")
        for name, entry in known.items():
            if name not in table and entry.default is MISSING and entry.default_factory is MISSING:
                self._problem(f"{_join(where, name)} is missing")
        values = {
            name: self._value(hints[name], _spelled_out(table[name], entry), _join(where, name))
            for name, entry in known.items()
            if name in table and not (TUNABLE in entry.metadata and table[name] == AUTO)  # its default until chosen
        }
        if len(self.problems) > before:
            return None
        for name in values.keys() & {name for name, entry in known.items() if PATH in entry.metadata}:
            values[name] = self._anchored(known[name].metadata[PATH], values[name], _join(where, name))
        try:
            return kind(**values)
        except ValueError as error:
            return self._problem(f"{where}: {error}" if where else str(error))

    def _anchored(self, anchored: Callable[[str, Path], str], value: str, where: str) -> str:
        return value if self.anchors is None else anchored(value, self.anchors.folder_of(where))

    def _value(self, hint: Any, value: Any, where: str) -> Any:
        if get_origin(hint) in (Union, types.UnionType):
            hint = next(option for option in get_args(hint) if option is not type(None))
        if hint in self.registries:
            return self.component(hint, value, where)
        inner = get_args(hint)[-1] if get_origin(hint) is dict else None
        if inner in self.registries:
            return self._each(value, where, lambda name, table: self._labeled(inner, name, table, where))
        if isinstance(inner, type) and is_dataclass(inner):
            return self._each(value, where, lambda name, table: self.record(inner, table, _join(where, name)))
        if get_origin(hint) is tuple and get_args(hint)[0] in self.registries:
            if not isinstance(value, list):
                return self._problem(f"{where} must be a list of tables")
            protocol = get_args(hint)[0]
            return tuple(self.component(protocol, table, f"{where}[{index}]") for index, table in enumerate(value))
        if is_dataclass(hint) and isinstance(hint, type):
            return self.record(hint, value, where)
        if value == AUTO and hint in (int, float):
            return self._problem(f'{where} must be a number, got "{AUTO}". This key cannot be chosen automatically.')
        return self._leaf(hint, value, where)

    def _each(self, value: Any, where: str, build: Callable[[str, Any], Any]) -> Any:
        if not isinstance(value, Mapping):
            return self._problem(f"{where} must be a table")
        return {name: build(name, table) for name, table in value.items()}

    def _labeled(self, protocol: Any, label: str, table: Any, where: str) -> Any:
        """Build a component under a label, which is its name unless the table has one."""
        place = _join(where, label)
        if isinstance(table, Mapping) and "name" in table:
            return self.component(protocol, table, place)
        return self.named(protocol, label, table, place)

    def _leaf(self, hint: Any, value: Any, where: str) -> Any:
        try:
            # Through JSON: its strict mode accepts an array for a tuple, but not a text for a number.
            return TypeAdapter(hint).validate_json(json.dumps(value, default=str), strict=True)
        except ValidationError as error:
            for problem in error.errors():
                place = place_of(problem["loc"])
                shown = json.dumps(problem["input"], default=str)
                text = problem["msg"].removeprefix("Value error, ")
                self._problem(f"{where}{place} = {shown}: {text[:1].lower()}{text[1:]}")
            return None

    def _problem(self, text: str) -> None:
        self.problems.append(text)


def place_of(parts: Sequence[str | int]) -> str:
    """Return the place of a pydantic error as text: ``("methods", 1, "title")`` -> ``.methods[1].title``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


def _spelled_out(value: Any, entry: Field[Any]) -> Any:
    """Return the table that a text is short for, if the key allows it; also inside a list."""
    if SHORT not in entry.metadata:
        return value
    if isinstance(value, list):
        return [_spelled_out(each, entry) for each in value]
    return {"name": value} if isinstance(value, str) else value


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
