"""A family on disk: weights of each member and the manifest that says what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from torch import nn

from regnas.components.registry import nearest
from regnas.data import Preprocessing
from regnas.errors import ArtifactError, ConfigurationError
from regnas.family.manifest import Manifest, Member, file_in, read_manifest
from regnas.runtime.files import check_sha256
from regnas.runtime.tensors import load_into, load_tensors
from regnas.supernet import SupernetPlugin, build_plugin, space_of

_BYTES = 4  # of a weight: float32


class Family(Mapping[str, nn.Module]):
    """``family["small"]`` is a plain network in evaluation mode; ``family.members`` goes from small to large."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.members = manifest.members
        self.classes = manifest.classes
        self.flip_table = manifest.flip_table
        self.preprocess = Preprocessing.from_json(manifest.preprocessing)
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
        return build_plugin(self.manifest.supernet)

    def _member(self, name: str) -> Member:
        for member in self.members:
            if member.name == name:
                return member
        known = list(self)
        hint = nearest(name, known)
        raise ConfigurationError(f'the family has no member "{name}"{hint} (members: {", ".join(known)})')

    def _load(self, member: Member) -> nn.Module:
        path = file_in(self.folder, member.file)
        shape, classes = self.manifest.input_shape, len(self.classes)
        space = space_of(self.plugin, shape, classes)
        space.check(member.architecture)
        parameters = space.cost(member.architecture).parameters
        if parameters * _BYTES > path.stat().st_size:  # before a network is built that nothing could fill
            raise ArtifactError(f"{path} belongs to another network: {parameters:,} parameters do not fit into it")
        network = self.plugin.network(member.architecture, shape, classes)
        load_into(network, load_tensors(path, member.sha256), path)
        return network.eval()


def load_family(folder: str | Path) -> Family:
    """Read a family from its folder; every file is checked against the manifest before anything is built."""
    folder = Path(folder)
    family = Family(folder, read_manifest(folder))
    for member in family.members:
        check_sha256(file_in(folder, member.file), member.sha256)
    return family
