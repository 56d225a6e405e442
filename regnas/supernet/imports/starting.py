"""Find the imported weights that a configuration names, and check that they fit its supernet."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from regnas.components.paths import absolute
from regnas.errors import ArtifactError, ConfigurationError
from regnas.supernet import SUPERNETS, InputShape, SupernetPlugin, build_plugin
from regnas.supernet.imports.store import SUFFIX, ImportedSupernet, default_store, find, weights_path

# Fields of a supernet that concern training and images, but not its weights.
FREE = ("resolutions", "dropout")


def find_weights(weights: str, plugin: SupernetPlugin, input_shape: InputShape, classes: int) -> ImportedSupernet:
    """Find weights by their name in the store, or by the path of a file that ``regnas import-ofa`` wrote.

    Refuse weights of another supernet, or for other data; the error says what differs.
    """
    if _is_path(weights):
        found = find(Path(weights).expanduser())
        remedy = "`regnas import-ofa` writes such a file, with its .json beside it"
    else:
        found = find(weights_path(default_store(), weights))
        remedy = f"run `regnas import-ofa {weights}` first"
    if found is None:
        raise ConfigurationError(f'weights: there is no imported supernet "{weights}": {remedy}')
    _check_fits(found, plugin, input_shape, classes)
    return found


def anchored_weights(weights: str, folder: Path) -> str:
    """Return the path of a file below the folder; a name in the store stays a name."""
    return absolute(weights, folder) if _is_path(weights) else weights


def _is_path(weights: str) -> bool:
    return weights.endswith(SUFFIX) or "/" in weights


def _check_fits(imported: ImportedSupernet, plugin: SupernetPlugin, input_shape: InputShape, classes: int) -> None:
    try:
        own = build_plugin(imported.supernet)
    except ArtifactError as error:
        raise ArtifactError(f"weights: {imported.name}: {error}") from None
    different = _differences(own, plugin)
    if imported.classes != classes:
        different.append(f"it has {imported.classes:,} classes, the data has {classes:,}")
    if imported.input_shape[0] != input_shape[0]:
        different.append(f"it needs images of {imported.input_shape[0]} channels, the data has {input_shape[0]}")
    if different:
        raise ConfigurationError(
            f"weights: {imported.name} does not belong to this configuration: {'; '.join(different)}"
        )


def _differences(own: Any, plugin: Any) -> list[str]:
    if type(own) is not type(plugin):
        return [f"its supernet is {_name(own)}, not {_name(plugin)}"]
    keys = [field.name for field in fields(own) if field.name not in FREE] if is_dataclass(own) else []
    return [
        f"its supernet.{key} is {_shown(getattr(own, key))}, not {_shown(getattr(plugin, key))}"
        for key in keys
        if getattr(own, key) != getattr(plugin, key)
    ]


def _name(plugin: SupernetPlugin) -> str:
    return SUPERNETS.name_of(plugin) or type(plugin).__name__


def _shown(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)
