"""Configurations as tables: TOML files, presets, changes of single keys. Does not import torch."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from regnas.components.paths import Anchors
from regnas.components.registry import nearest
from regnas.errors import ConfigurationError, first_line
from regnas.runtime.files import is_deeper

PRESETS = "search_configs"
SIZE_LIMIT = 256 * 2**10  # bytes of a file; a configuration has a few thousand
DEPTH_LIMIT = 32
DOT_LIMIT = 1000  # dots in a line

# Changes of a configuration: {"training.epochs": 3}, or texts as on the command line: ["training.epochs=3"].
Changes = Mapping[str, Any] | Sequence[str]


def load_table(source: str, changes: Changes = ()) -> tuple[str, dict[str, Any], Anchors]:
    """Read a file or a preset; return its name, its content with the changes, and the folders of relative paths."""
    path = _find(source)
    with path.open("rb") as file:
        content = file.read(SIZE_LIMIT + 1)
    if len(content) > SIZE_LIMIT:
        raise ConfigurationError(f"{source} must have at most {SIZE_LIMIT:,} bytes as a configuration, got more")
    try:
        table = _parse(content.decode("utf-8"))
    except ValueError as error:
        raise ConfigurationError(f"{source} must be TOML: {first_line(error)}") from None
    change(table, changes)
    folder = path.absolute().parent if isinstance(path, Path) and Path(source).is_file() else Path.cwd()
    return Path(source).stem, table, Anchors(folder, Path.cwd(), tuple(parse_changes(changes)))


def is_update(table: Mapping[str, Any]) -> bool:
    """Whether a configuration is for ``regnas update``."""
    return "models" in table or "methods" in table


def presets() -> list[str]:
    """Return the names of the presets."""
    return sorted(
        entry.name.removesuffix(".toml") for entry in resources.files(PRESETS).iterdir() if entry.name.endswith(".toml")
    )


def _find(source: str) -> Any:
    path = Path(source)
    if path.is_file():
        return path
    preset = resources.files(PRESETS) / f"{source.removesuffix('.toml')}.toml"
    if "/" not in source and preset.is_file():
        return preset
    known = presets()
    if path.is_dir():
        raise ConfigurationError(
            f"{source} must be a configuration or a run folder, got a folder without run.json{_remedy(source, path)}"
        )
    raise ConfigurationError(
        f'there is no file "{source}", nor a preset of that name{nearest(source, known)} (presets: {", ".join(known)})'
    )


def _remedy(source: str, folder: Path) -> str:
    """Describe the folder by its content, and say what to do with it."""
    exported = (folder / "manifest.json").is_file()
    if exported and (folder.absolute().parent / "run.json").is_file():
        return f". It is a part of a run folder. Use {folder.parent}."
    if exported:
        return ". It holds exported networks. `regnas verify` and `regnas predict` take them."
    runs = sorted(entry.name for entry in folder.iterdir() if (entry / "run.json").is_file())
    if runs:
        return f". It holds the run folders {', '.join(runs[:3])}. Choose one, such as {folder / runs[0]}."
    if (folder / "train").is_dir():
        return (
            ". It looks like a folder of images. Name it as data of a configuration: `regnas run cifar10 --set "
            f"data.name=image_folder --set data.path={source} --set data.size=32 --out runs/{folder.absolute().name}`."
        )
    return ". `regnas run CONFIG --out DIR` makes a run folder."


def parse_changes(changes: Changes) -> dict[str, Any]:
    """Return the changes by key, with texts such as "training.epochs=3" read as TOML."""
    if isinstance(changes, Mapping):
        return dict(changes)
    return dict(map(_parse_change, [changes] if isinstance(changes, str) else changes))


def change(table: dict[str, Any], changes: Changes) -> None:
    """Write the changes into the table, in place."""
    for key, value in parse_changes(changes).items():
        _assign(table, key, value)
    if is_deeper(table, DEPTH_LIMIT):
        raise ConfigurationError(f"a configuration must be nested at most {DEPTH_LIMIT} deep, got more")


def _parse(text: str) -> dict[str, Any]:
    """Parse TOML in bounded time: tomllib takes seconds for a key of thousands of parts, and recurses for brackets."""
    if any(line.count(".") > DOT_LIMIT for line in text.splitlines()):
        raise ValueError(f"a line must have at most {DOT_LIMIT:,} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"it must be nested at most {DEPTH_LIMIT} deep") from None


def _parse_change(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigurationError(f'`set` must be KEY=VALUE, such as training.epochs=3, got "{text}"')
    try:
        return key.strip(), _parse(f"value = {value}")["value"]
    except ValueError:
        return key.strip(), value  # a bare word is a text


def _assign(table: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    for part in path:
        inner = table.setdefault(part, {})
        if not isinstance(inner, dict):
            raise ConfigurationError(f'`set` {key}: "{part}" must be a table, got the value {inner}')
        table = inner
    table[last] = value


def describe(table: Mapping[str, Any], section: str) -> str:
    """Describe a component by its name and keys: ``digits (severity 1.2)``."""
    entries = dict(table.get(section, {}))
    name = entries.pop("name", "")
    keys = ", ".join(f"{key} {value}" for key, value in entries.items())
    return f"{name} ({keys})" if keys else str(name)
