"""Check files against their manifest, offline and from the files alone; nothing in them is run or unpickled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regnas.errors import ArtifactError, EnvironmentProblem, RegnasError, first_line
from regnas.family.manifest.containment import containment_proof
from regnas.family.manifest.entries import Card, Export, Member
from regnas.family.manifest.folders import MANIFEST, SIGNATURE, file_in
from regnas.family.manifest.manifest import Manifest, canonical, read_manifest
from regnas.family.manifest.metadata import metadata_of
from regnas.family.manifest.signing import check_signature, is_signed
from regnas.flips import FlipTable
from regnas.runtime.files import check_sha256, read_json
from regnas.runtime.lock import LOCK
from regnas.runtime.safetensors_headers import map_tensors, read_header
from regnas.space import Cost, contains

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

# Counts MACs and parameters of every member. Only this may need torch.
Costs = Callable[[Manifest], Mapping[str, Cost]]


@dataclass(frozen=True)
class CheckedFile:
    """A file that the manifest lists; ``what`` is the member and the kind of the file."""

    file: str
    what: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Verification:
    """The result of checking a folder.

    Attributes:
        folder: the folder of the manifest.
        files: every file that the manifest lists.
        problems: all problems, one line each; empty if every file agrees with the manifest.
        notes: what was checked, and what could not be checked.
        signer: the fingerprint of the key that signed the manifest; empty if no key was given, or it did not sign.
    """

    folder: Path
    files: tuple[CheckedFile, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    signer: str = ""

    @property
    def passed(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def check(self) -> Verification:
        """Raise an ``ArtifactError`` with every problem, or return the verification itself."""
        if self.problems:
            raise ArtifactError(*self.problems)
        return self


def verify_family(folder: Path, costs: Costs, key: Ed25519PublicKey | None = None) -> Verification:
    """Check everything that can be checked; if the manifest is damaged, nothing else is checked.

    With a public key, the signature is checked first. If it is missing or wrong, the manifest is not parsed.
    """
    try:
        signer = "" if key is None else check_signature(folder, key)
        manifest = read_manifest(folder)
        if (folder / MANIFEST).read_bytes() != canonical(read_json(folder / MANIFEST)).encode():
            raise ArtifactError(f"{folder / MANIFEST} is damaged: regnas writes the same content differently")
    except ArtifactError as error:
        return Verification(folder, (), (str(error),), ())
    entries = _entries(manifest)
    files = tuple(CheckedFile(entry.file, what, entry.bytes, entry.sha256) for entry, what in entries)
    broken = {entry.file: problem for entry, _ in entries if (problem := _file_problem(folder, entry))}
    problems = [*broken.values(), *_entry_problems(manifest, folder), *_flip_problems(manifest, folder)]
    problems += _metadata_problems(manifest, folder, broken)
    notes = _signature_notes(folder, signer)
    for small, large in () if manifest.is_update else pairwise(manifest.members):
        if small.file not in broken and large.file not in broken:
            try:
                notes.append(_containment(manifest, folder, small, large))
            except ArtifactError as error:
                problems.append(f"{folder / large.file} does not contain {small.name}: {error}")
    cost_problems, note = _cost_problems(manifest, folder, costs)
    listed = {MANIFEST, SIGNATURE, LOCK, *(entry.file for entry, _ in entries)}
    unlisted = sorted(path.name for path in folder.iterdir() if path.name not in listed)
    strangers = [f"{name!r} is not listed in the manifest and was not checked" for name in unlisted]
    return Verification(folder, files, (*problems, *cost_problems), (*notes, note, *strangers), signer)


def _signature_notes(folder: Path, signer: str) -> list[str]:
    if signer:
        return [f"signed with the key {signer}"]
    return ["signed, not checked: this needs the public key of the signer"] if is_signed(folder) else []


def _entries(manifest: Manifest) -> list[tuple[Member | Export | Card, str]]:
    """Return every file that the manifest lists, once, with a description."""
    members = {member.file for member in manifest.members}
    return [
        *((member, f"{member.name}, weights") for member in manifest.members),
        *((each, f"{each.member}, {each.format}") for each in manifest.exports if each.file not in members),
        *((card, f"{card.member}, model card") for card in manifest.cards),
    ]


def _file_problem(folder: Path, entry: Member | Export | Card) -> str:
    try:
        path = file_in(folder, entry.file)
        size = path.stat().st_size
        if size != entry.bytes:
            return f"{path} is damaged: it must have {entry.bytes:,} bytes, got {size:,}"
        check_sha256(path, entry.sha256)
    except (ArtifactError, OSError) as error:
        return str(error)
    return ""


def _entry_problems(manifest: Manifest, folder: Path) -> Iterator[str]:
    """Find names that are used twice, members out of order, and files of members that do not exist."""
    path = folder / MANIFEST
    files = [entry.file for entry, _ in _entries(manifest)]
    for file in sorted({file for file in files if files.count(file) > 1} | ({MANIFEST, SIGNATURE} & set(files))):
        yield f"{path} lists {file} for more than one thing"
    weights = {member.name: member for member in manifest.members}
    for (small, inner), (large, outer) in pairwise(manifest.architectures.items()):
        if not contains(outer, inner):
            yield f"{path}: the architecture of {large} does not contain that of {small}"
    for export in manifest.exports:
        source = weights.get(export.member)
        if source is None:
            yield f"{path}: {export.file} is of a member {export.member!r} that does not exist"
        elif export.source != source.sha256:
            yield f"{path}: {export.file} was made from other weights than {source.file}"
        elif export.format == "safetensors" and (export.file, export.sha256) != (source.file, source.sha256):
            yield f"{path}: {export.file} is not the file of {export.member}, {source.file}"
    for card in manifest.cards:
        if card.member not in weights:
            yield f"{path}: {card.file} is of a member {card.member!r} that does not exist"


def _flip_problems(manifest: Manifest, folder: Path) -> Iterator[str]:
    """Find tables of other members, and tables that contradict the numbers of their members."""
    path = folder / MANIFEST
    tops = {member.name: member.top1 for member in manifest.members}
    yield from _table_problems(f"{path}: flip_table", manifest.flip_table, tops)
    for name, table in manifest.exported_flips.items():
        exported = {export.member: export.top1 for export in manifest.exports if export.format == name}
        yield from _table_problems(f"{path}: exported_flips.{name}", table, exported)
    for export in manifest.exports:
        if export.format not in manifest.exported_flips:
            yield f"{path}: {export.file} has a format without flips among its files: {export.format!r}"
        # ER_file = ER_member + NFR - PFR, and every flip is a disagreement.
        gap = export.member_top1 - export.nfr + export.pfr - export.top1
        flips = round((export.nfr + export.pfr) * manifest.flip_table.samples)
        if abs(gap) > 1e-9 or flips > export.disagreements:
            yield f"{path}: the flips of {export.file} contradict its Top-1 or its disagreements"


def _table_problems(where: str, table: FlipTable, top1: Mapping[str, float]) -> Iterator[str]:
    if table.models != tuple(top1):
        yield f"{where} is of {', '.join(table.models)}, the members are {', '.join(top1)}"
    elif not np.allclose(table.accuracy, list(top1.values()), rtol=0, atol=1e-12):
        yield f"{where} contradicts the members' Top-1"
    counts = table.nfr * table.samples
    if np.abs(counts - counts.round()).max() > 1e-6:
        yield f"{where} has rates that no {table.samples:,} images give"
    chances = np.outer(table.accuracy, 1 - table.accuracy)  # [K, K]
    relative = np.divide(table.nfr, chances, out=np.zeros_like(chances), where=chances > 1e-12)
    if np.abs(table.nfr.diagonal()).max() > 0 or not np.allclose(table.relative_nfr, relative, rtol=1e-6, atol=1e-9):
        yield f"{where} contradicts itself: a model flips against itself, or relative rates are not those of the rates"


def _metadata_problems(manifest: Manifest, folder: Path, broken: Mapping[str, str]) -> Iterator[str]:
    """Find weights whose own metadata contradict the manifest."""
    for member in manifest.members:
        if member.file in broken:
            continue
        try:
            _, found = read_header(folder / member.file)
        except ArtifactError as error:
            yield str(error)
            continue
        expected = metadata_of(member.name, manifest.preprocessing, manifest.classes, manifest.input_shape)
        different = [key for key, value in expected.items() if key != "regnas.version" and found.get(key) != value]
        if different:
            yield f"{folder / member.file}: its metadata contradicts the manifest: {', '.join(different)}"


def _containment(manifest: Manifest, folder: Path, small: Member, large: Member) -> str:
    proofs = [proof for proof in manifest.containment if (proof["small"], proof["large"]) == (small.name, large.name)]
    if len(proofs) != 1:
        raise ArtifactError(f"{MANIFEST} has {len(proofs)} proofs of it")
    found = containment_proof(map_tensors(folder / small.file), map_tensors(folder / large.file))
    for part, value in found.items():
        if proofs[0].get(part) != value:
            where = _first_difference(proofs[0].get(part), value) or part
            raise ArtifactError(f"the tensors show something else than {MANIFEST} ({where})")
    relations = [entry["relation"] for entry in found["shared"].values()]
    numbers = sum(math.prod(entry["shape"]) for entry in found["shared"].values())
    apart = len(found["not_comparable"])
    transformed = f"; {apart} kernels come from transforms and are not comparable" if apart else ""
    return f"{large.name} contains {small.name}: {len(relations)} tensors, {numbers:,} weights, bit by bit{transformed}"


def _first_difference(recorded: Any, found: Any) -> str:
    if not isinstance(recorded, dict) or not isinstance(found, dict):
        return ""
    return next(str(name) for name in sorted({*recorded, *found}) if recorded.get(name) != found.get(name))


def _cost_problems(manifest: Manifest, folder: Path, costs: Costs) -> tuple[list[str], str]:
    try:
        by_member = costs(manifest)
    except (EnvironmentProblem, ImportError) as error:
        return [], f"MACs and parameters were not checked: {first_line(error)}"
    except RegnasError as error:
        return [f"{folder / MANIFEST}: {first_line(error)}"], "MACs and parameters could not be counted"
    problems = [
        f"{folder / MANIFEST}: {member.name} must have {found:,} {what}, got {recorded:,}"
        for member in manifest.members
        for what, recorded, found in (
            ("MACs", member.macs, by_member[member.name].macs),
            ("parameters", member.parameters, by_member[member.name].parameters),
        )
        if recorded != found
    ]
    return problems, "MACs and parameters are those of the networks"
