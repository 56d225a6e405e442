"""``manifest.json``: the members of a family or the models of an update, every file with its sha256, and a digest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regnas.errors import ArtifactError
from regnas.family.manifest.entries import Card, Export, Member
from regnas.family.manifest.folders import MANIFEST, file_in
from regnas.family.manifest.signing import remove_signature
from regnas.family.manifest.tables import JsonTable
from regnas.flips import FlipTable
from regnas.runtime.files import digest_of, json_text, read_json, write_text
from regnas.space import Architecture

FORMAT = 2
SIZE_LIMIT = 64 * 2**20
NOT_STATED = "not stated"
_KEYS = (
    "format", "regnas", "input_shape", "classes", "preprocessing", "data", "licenses", "members", "flip_table",
    "exports", "exported_flips", "cards", "digest",
)  # fmt: skip
_OF_FAMILIES = ("supernet", "containment")
_OF_UPDATES = ("network",)


@dataclass(frozen=True)
class Manifest:
    """The networks in a folder: the members of a family, from small to large, or the models of an update.

    A family has a ``supernet`` and, for every two neighbors, a proof of ``containment``. An update has a ``network``
    that all of its models are built from.
    """

    version: str  # of regnas
    input_shape: tuple[int, int, int]
    classes: tuple[str, ...]
    preprocessing: Mapping[str, Any]
    data: Mapping[str, Any]
    members: tuple[Member, ...]
    flip_table: FlipTable
    supernet: Mapping[str, Any] = field(default_factory=dict)
    containment: tuple[Mapping[str, Any], ...] = ()
    network: Mapping[str, Any] = field(default_factory=dict)
    weights_license: str = NOT_STATED
    polish: Mapping[str, Any] | None = None  # gains and costs of polishing, if the members were polished
    exports: tuple[Export, ...] = ()
    exported_flips: Mapping[str, FlipTable] = field(default_factory=dict)  # between the members' files, by format
    cards: tuple[Card, ...] = ()

    @property
    def is_update(self) -> bool:
        """Whether these are the models of an update."""
        return bool(self.network)

    @property
    def architectures(self) -> dict[str, Architecture]:
        """The architectures of a family by member."""
        return {member.name: member.architecture for member in self.members if member.architecture is not None}

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``manifest.json``, with its digest."""
        content: dict[str, Any] = {
            "format": FORMAT,
            "regnas": self.version,
            "supernet": dict(self.supernet),
            "network": dict(self.network),
            "input_shape": list(self.input_shape),
            "classes": list(self.classes),
            "preprocessing": dict(self.preprocessing),
            "data": dict(self.data),
            "licenses": {"regnas": "Apache-2.0", "weights": self.weights_license},
            "members": [member.to_json() for member in self.members],
            "flip_table": self.flip_table.to_json(),
            "containment": [dict(proof) for proof in self.containment],
            "exports": [export.to_json() for export in self.exports],
            "exported_flips": {name: table.to_json() for name, table in self.exported_flips.items()},
            "cards": [card.to_json() for card in self.cards],
        }
        for key in _OF_FAMILIES if self.is_update else _OF_UPDATES:
            del content[key]
        if self.polish is not None:
            content["polish"] = dict(self.polish)
        return content | {"digest": digest_of(content)}

    @classmethod
    def from_json(cls, value: Any, path: Path) -> Manifest:
        """Read and check the content of ``manifest.json``; ``path`` is for error messages."""
        table = _table(value, path)
        updated = "network" in table.value
        members = tuple(Member.from_json(entry, path, updated) for entry in table.items("members"))
        if not members:
            raise table.refusal("members", "at least one")
        shape = tuple(table.items("input_shape"))
        if len(shape) != 3 or not all(type(size) is int and size > 0 for size in shape):
            raise table.refusal("input_shape", "channels, height and width")
        classes = tuple(table.items("classes"))
        if not all(isinstance(name, str) for name in classes):
            raise table.refusal("classes", "a list of texts")
        if updated and not table.table("network"):
            raise table.refusal("network", "the table of a network")
        proofs = () if updated else tuple(table.items("containment"))
        licenses = JsonTable.of(table.table("licenses"), path, "the licenses", ("regnas", "weights"))
        for proof in proofs:
            JsonTable.of(proof, path, "a proof of containment", ("small", "large", "shared", "not_comparable"))
        return cls(
            version=table.text("regnas"),
            supernet={} if updated else table.table("supernet"),
            network=table.table("network") if updated else {},
            input_shape=(shape[0], shape[1], shape[2]),
            classes=classes,
            preprocessing=table.table("preprocessing"),
            data=table.table("data"),
            members=members,
            flip_table=_flips(table.table("flip_table"), path),
            containment=proofs,
            weights_license=licenses.text("weights"),
            polish=table.table("polish") if "polish" in table.value else None,
            exports=tuple(Export.from_json(entry, path) for entry in table.items("exports")),
            exported_flips={str(name): _flips(flips, path) for name, flips in table.table("exported_flips").items()},
            cards=tuple(Card.from_json(entry, path) for entry in table.items("cards")),
        )


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a family or of an update and check it against its own digest."""
    path = folder / MANIFEST
    content = _content(folder)
    if isinstance(content, dict) and "models" in content and "format" not in content:
        raise ArtifactError(f"{path} must have format {FORMAT}, got an older one. Run `regnas update RUN` again.")
    found = format_of(folder, content)
    if found != FORMAT:
        remedy = ". Write it again with `regnas export RUN`." if type(found) is int and found < FORMAT else ""
        raise ArtifactError(f"{path} must have format {FORMAT}, got {found}{remedy}")
    table = _table(content, path)
    if table.value["digest"] != digest_of({key: value for key, value in content.items() if key != "digest"}):
        raise ArtifactError(f"{path} is damaged: its content does not match its own digest")
    return Manifest.from_json(content, path)


def format_of(folder: Path, content: Any = None) -> Any:
    """Return the format that the manifest of the folder is written in."""
    content = _content(folder) if content is None else content
    return JsonTable.of(content, folder / MANIFEST, "the manifest", ("format",)).value["format"]


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, the last file of an export: a family without a manifest does not exist.

    A signature of the old manifest is removed first, because it does not belong to the new one.
    """
    remove_signature(folder)
    write_text(folder / MANIFEST, canonical(manifest.to_json()))


def canonical(content: Any) -> str:
    """Return the only valid text of a manifest with this content."""
    return json_text(content)


def _table(content: Any, path: Path) -> JsonTable:
    updated = isinstance(content, dict) and "network" in content
    return JsonTable.of(content, path, "the manifest", (*_KEYS, *(_OF_UPDATES if updated else _OF_FAMILIES)))


def _content(folder: Path) -> Any:
    path = file_in(folder, MANIFEST)
    size = path.stat().st_size
    if size > SIZE_LIMIT:
        raise ArtifactError(f"{path} has {size:,} bytes, over the limit of {SIZE_LIMIT:,} for a manifest")
    return read_json(path)


def _flips(value: Any, path: Path) -> FlipTable:
    table = JsonTable.of(value, path, "a flip table", ())
    try:
        return FlipTable.from_json(table.value)
    except (ArtifactError, OverflowError) as error:
        raise ArtifactError(f"{path}: {error}") from None
