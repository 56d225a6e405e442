"""Imported supernets on disk: ``<name>.safetensors``, and ``<name>.json`` with its description, written last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from regnas.errors import ArtifactError, ConfigurationError
from regnas.runtime.files import cache_folder, check_sha256, read_json, require_keys, write_json
from regnas.runtime.tensors import load_tensors, save_tensors
from regnas.supernet import InputShape, Published

FORMAT = 1
SUFFIX = ".safetensors"


def default_store() -> Path:
    """Return the folder of imported supernets in the cache folder."""
    return cache_folder() / "supernets"


@dataclass(frozen=True)
class ImportedSupernet:
    """A converted checkpoint: the path of its weights, their origin, and the supernet that they belong to."""

    path: Path
    sha256: str
    origin: str  # the address or the file
    origin_sha256: str
    supernet: Mapping[str, Any]  # the table of a configuration
    input_shape: InputShape
    classes: int

    @property
    def name(self) -> str:
        return self.path.name.removesuffix(SUFFIX)

    def check(self) -> None:
        """Refuse weights that changed since they were written."""
        try:
            check_sha256(self.path, self.sha256)
        except ArtifactError as error:
            raise ArtifactError(f"{error}. Delete it, and import it again.") from None

    def tensors(self) -> dict[str, Tensor]:
        """Read the weights, after checking their sha256."""
        return load_tensors(self.path, self.sha256)


def weights_path(folder: Path, name: str) -> Path:
    """Return the path of the weights of this name; refuse names that are not safe as file names."""
    if name.startswith(".") or not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise ConfigurationError(f'`name` must have only letters, digits, -, _ and dots, got "{name}"')
    return folder / f"{name}{SUFFIX}"


def find(path: Path) -> ImportedSupernet | None:
    """Return the supernet that was imported to this path, or None."""
    return read_record(path) if path.exists() and _record_of(path).exists() else None


def read_record(path: Path) -> ImportedSupernet:
    """Read the description beside the weights."""
    where = _record_of(path)
    facts = read_json(where)
    if not isinstance(facts, dict):
        raise ArtifactError(f"{where} is damaged: it must hold a table, got {type(facts).__name__}")
    require_keys(facts, ("format", "sha256", "origin", "origin_sha256", "supernet", "input_shape", "classes"), where)
    if facts["format"] != FORMAT:
        raise ArtifactError(f"{where} must have format {FORMAT}, got {facts['format']}. Import it again.")
    try:
        channels, height, width = map(int, facts["input_shape"])
        return ImportedSupernet(
            path=path,
            sha256=str(facts["sha256"]),
            origin=str(facts["origin"]),
            origin_sha256=str(facts["origin_sha256"]),
            supernet=dict(facts["supernet"]),
            input_shape=(channels, height, width),
            classes=int(facts["classes"]),
        )
    except (TypeError, ValueError) as error:
        raise ArtifactError(f"{where} is damaged ({error})") from None


def keep(
    path: Path, tensors: Mapping[str, Tensor], supernet: Published, origin: str, origin_sha256: str
) -> ImportedSupernet:
    """Write the weights and, last, their description."""
    sha256 = save_tensors(path, tensors)
    facts = {
        "format": FORMAT,
        "sha256": sha256,
        "origin": origin,
        "origin_sha256": origin_sha256,
        "supernet": dict(supernet.supernet),
        "input_shape": list(supernet.input_shape),
        "classes": supernet.classes,
    }
    write_json(_record_of(path), facts)
    return read_record(path)


def _record_of(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(SUFFIX) + ".json")
