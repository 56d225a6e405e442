"""A family on disk: weights of each member and the manifest that says what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import nn

from regnas.data import Preprocessing
from regnas.errors import ArtifactError, ConfigurationError
from regnas.flips import FlipTable
from regnas.registry import nearest
from regnas.runtime.files import check_sha256, digest_of, read_json, require_keys, write_json
from regnas.runtime.tensors import load_into, load_tensors, save_tensors
from regnas.space import Architecture
from regnas.supernet import InputShape, SupernetPlugin, build_plugin

MANIFEST = "manifest.json"
FORMAT = 1
_KEYS = ("format", "supernet", "input_shape", "classes", "preprocessing", "data", "members", "flip_table", "digest")
_MEMBER_KEYS = ("name", "file", "sha256", "macs", "parameters", "architecture", "top1")


@dataclass(frozen=True)
class Member:
    name: str
    architecture: Architecture
    macs: int
    parameters: int
    top1: float  # on the report split
    file: str
    sha256: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"architecture": self.architecture.to_json()}


class Family(Mapping[str, nn.Module]):
    """``family["small"]`` is a plain network in evaluation mode; ``family.members`` goes from small to large."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self.members = tuple(_member(entry, folder) for entry in manifest["members"])
        self.classes: tuple[str, ...] = tuple(manifest["classes"])
        self.flip_table = FlipTable.from_json(manifest["flip_table"])
        self.preprocess = Preprocessing.from_json(manifest["preprocessing"])
        self._networks: dict[str, nn.Module] = {}

    def __getitem__(self, name: str) -> nn.Module:
        if name not in self._networks:
            self._networks[name] = self._load(self._member(name))
        return self._networks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(member.name for member in self.members)

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def plugin(self) -> SupernetPlugin:
        return build_plugin(self.manifest["supernet"])

    def _member(self, name: str) -> Member:
        for member in self.members:
            if member.name == name:
                return member
        known = list(self)
        hint = nearest(name, known)
        raise ConfigurationError(f'the family has no member "{name}"{hint} (members: {", ".join(known)})')

    def _load(self, member: Member) -> nn.Module:
        path = self.folder / member.file
        channels, height, width = self.manifest["input_shape"]
        network = self.plugin.network(member.architecture, (channels, height, width), len(self.classes))
        load_into(network, load_tensors(path, member.sha256), path)
        return network.eval()


def load_family(folder: str | Path) -> Family:
    """Read a family from its folder; every file is checked against the manifest before anything is built."""
    folder = Path(folder)
    path = folder / MANIFEST
    manifest = read_json(path)
    if not isinstance(manifest, dict):
        raise ArtifactError(f"{path} is damaged: it holds no table")
    require_keys(manifest, _KEYS, path)
    if manifest["format"] != FORMAT:
        raise ArtifactError(f"{path} has format {manifest['format']}, this version of regnas reads {FORMAT}")
    if manifest["digest"] != _digest(manifest):
        raise ArtifactError(f"{path} is damaged: its content is not what its own digest says")
    family = Family(folder, manifest)
    for member in family.members:
        check_sha256(folder / member.file, member.sha256)
    return family


def write_member(folder: Path, name: str, network: nn.Module) -> tuple[str, str]:
    """Write the weights of a member; the file's name and sha256."""
    file = f"{name}.safetensors"
    return file, save_tensors(folder / file, network.state_dict())


def write_manifest(
    folder: Path,
    *,
    supernet: Mapping[str, Any],
    input_shape: InputShape,
    classes: tuple[str, ...],
    preprocessing: Preprocessing,
    data: Mapping[str, Any],
    members: list[Member],
    flip_table: FlipTable,
) -> Family:
    """The last file of an export: a family without it does not exist."""
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "supernet": dict(supernet),
        "input_shape": list(input_shape),
        "classes": list(classes),
        "preprocessing": preprocessing.to_json(),
        "data": dict(data),
        "members": [member.to_json() for member in members],
        "flip_table": flip_table.to_json(),
    }
    write_json(folder / MANIFEST, manifest | {"digest": _digest(manifest)})
    return load_family(folder)


def _digest(manifest: Mapping[str, Any]) -> str:
    return digest_of({key: value for key, value in manifest.items() if key != "digest"})


def _member(entry: Any, folder: Path) -> Member:
    if not isinstance(entry, dict):
        raise ArtifactError(f"{folder / MANIFEST} is damaged: a member is not a table")
    require_keys(entry, _MEMBER_KEYS, folder / MANIFEST)
    if Path(entry["file"]).name != entry["file"]:
        raise ArtifactError(f"{folder / MANIFEST} names a file outside its folder: {entry['file']}")
    known = {key: entry[key] for key in _MEMBER_KEYS}
    return Member(**known | {"architecture": Architecture.from_json(entry["architecture"])})
