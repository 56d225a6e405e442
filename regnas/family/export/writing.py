"""Write members, files in other formats and cards, and the manifest last.

Every listed file was run and measured. A file that is listed, undamaged and made from the current weights stays
unchanged, so the same command continues an export that was killed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

from torch import nn

from regnas.data import Preprocessing, Split, Splits
from regnas.errors import ArtifactError, InfeasibleError, first_line
from regnas.family.export.cards import write_cards
from regnas.family.export.formats import FORMATS, SAFETENSORS, Material
from regnas.family.export.measuring import CPU, measure, predict
from regnas.family.family import Family, load_family
from regnas.family.manifest import (
    FORMAT,
    MANIFEST,
    Export,
    Manifest,
    Member,
    containment_proof,
    file_in,
    format_of,
    metadata_of,
    read_manifest,
    remove_signature,
    write_manifest,
)
from regnas.flips import Predictions, accuracy_interval, flip_table
from regnas.runtime.files import sha256_of, write_bytes
from regnas.runtime.progress import track
from regnas.runtime.safetensors_headers import map_tensors
from regnas.runtime.signals import stop_if_asked
from regnas.runtime.tensors import save_tensors
from regnas.space import Architecture, Cost
from regnas.training import logits_of, prepare_spread_images

CALIBRATION_IMAGES = 256


@dataclass(frozen=True)
class Origin:
    """The facts that all members of a family share."""

    supernet: Mapping[str, Any]
    input_shape: tuple[int, int, int]
    classes: tuple[str, ...]
    preprocessing: Preprocessing
    data: Mapping[str, Any]
    weights_license: str
    polish: Mapping[str, Any] | None = None

    def metadata(self, member: str) -> dict[str, str]:
        """Return the metadata of the weights of a member."""
        return metadata_of(member, self.preprocessing.to_json(), self.classes, self.input_shape)


def current_family(folder: Path) -> Family | None:
    """Load the family in the folder; None if there is none, or only one of an older format."""
    if not (folder / MANIFEST).exists():
        return None
    found = format_of(folder)
    return None if type(found) is int and found < FORMAT else load_family(folder)


def retire_family(folder: Path) -> None:
    """Remove files in other formats and cards of the old family, and then its manifest."""
    if not (folder / MANIFEST).exists():
        return
    with suppress(ArtifactError):  # a manifest of an older format lists nothing that could be trusted
        manifest = read_manifest(folder)
        weights = {member.file for member in manifest.members}  # overwritten by the new ones
        for file in [export.file for export in manifest.exports] + [card.file for card in manifest.cards]:
            if file not in weights:
                (folder / file).unlink(missing_ok=True)
    remove_signature(folder)
    (folder / MANIFEST).unlink(missing_ok=True)


def write_member(
    folder: Path,
    origin: Origin,
    network: nn.Module,
    architecture: Architecture,
    budget: str,
    cost: Cost,
    predictions: Predictions,
) -> Member:
    """Write the weights of a member, named like its predictions."""
    name = predictions.model
    path = folder / f"{name}.safetensors"
    sha256 = save_tensors(path, network.state_dict(), origin.metadata(name))
    return Member(
        name=name,
        architecture=architecture,
        budget=budget,
        macs=cost.macs,
        parameters=cost.parameters,
        top1=predictions.accuracy,
        top1_interval=accuracy_interval(predictions),
        file=path.name,
        sha256=sha256,
        bytes=path.stat().st_size,
    )


def write_family(
    folder: Path,
    origin: Origin,
    members: Sequence[Member],
    predictions: Sequence[Predictions],
    predict_again: Callable[[str, nn.Module], Predictions],
) -> Family:
    """Prove the containment, load the members again and compare their predictions; write cards and manifest."""
    manifest = Manifest(
        version=version("regnas"),
        supernet=origin.supernet,
        input_shape=origin.input_shape,
        classes=origin.classes,
        preprocessing=origin.preprocessing.to_json(),
        data=origin.data,
        members=tuple(members),
        flip_table=flip_table(predictions),
        containment=tuple(_proof(folder, small, large) for small, large in pairwise(members)),
        weights_license=origin.weights_license,
        polish=origin.polish,
    )
    loaded = Family(folder, manifest)
    found = [predict_again(name, network) for name, network in loaded.items()]
    exports = [
        measure(folder / member.file, SAFETENSORS, member, reference, again)
        for member, reference, again in zip(members, predictions, found, strict=True)
    ]
    return finish_family(folder, _with_exports(manifest, SAFETENSORS, exports, found))


def export_formats(family: Family, splits: Splits, formats: Sequence[str], report: Split | None = None) -> Family:
    """Write the members in further formats; run and compare every file before it is listed.

    ``report`` are the samples that the members were measured on; by default the report split.
    """
    report = splits.report if report is None else report
    if family.manifest.data.get("digest") != splits.digest:
        raise ArtifactError(f"{family.folder} must be measured on the given data, got the digest of other data")
    materials = {name: _material(family, name, splits) for name in family}
    references = {
        name: predict(name, partial(logits_of, material.network), report, family.preprocessing)
        for name, material in track(materials.items(), "predict members", len(materials))
    }
    manifest = family.manifest
    for name in formats:
        exports, found = [], []
        for member in track(manifest.members, f"export {name}", len(manifest.members)):
            stop_if_asked()
            path = family.folder / f"{member.name}.{FORMATS[name].suffix}"
            write_bytes(path, _content(materials[member.name], name, member.name))
            found.append(predict(member.name, FORMATS[name].network(path), report, family.preprocessing))
            exports.append(measure(path, name, member, references[member.name], found[-1]))
        family = finish_family(family.folder, _with_exports(manifest, name, exports, found))
        manifest = family.manifest
    return family


def missing_formats(family: Family, formats: Sequence[str]) -> list[str]:
    """Return those of the formats whose files are missing, damaged, or made from other weights."""
    return [name for name in formats if name in FORMATS and not _is_current(family, name)]


def refresh(family: Family, weights_license: str) -> Family:
    """Set the license, and write cards again that are missing or damaged."""
    manifest = replace(family.manifest, weights_license=weights_license)
    cards = write_cards(family.folder, manifest)
    if replace(manifest, cards=cards) == family.manifest:
        return family
    return finish_family(family.folder, manifest)


def _material(family: Family, name: str, splits: Splits) -> Material:
    manifest = family.manifest
    return Material(
        family[name].to(CPU),
        manifest.input_shape,
        metadata_of(name, manifest.preprocessing, manifest.classes, manifest.input_shape),
        lambda: prepare_spread_images(splits.train, family.preprocessing, CALIBRATION_IMAGES, CPU).contiguous().numpy(),
    )


def _content(material: Material, format_name: str, member: str) -> bytes:
    try:
        return FORMATS[format_name].content(material)
    except RuntimeError as error:  # raised by the exporters of torch if they do not support an operation
        raise InfeasibleError(f"{member} cannot be written as {format_name}: {first_line(error)}") from error


def _is_current(family: Family, format_name: str) -> bool:
    listed = {export.member: export for export in family.manifest.exports if export.format == format_name}
    return all(
        member.name in listed and listed[member.name].source == member.sha256 and _whole(family, listed[member.name])
        for member in family.members
    )


def _whole(family: Family, export: Export) -> bool:
    try:
        return sha256_of(file_in(family.folder, export.file)) == export.sha256
    except ArtifactError:
        return False


def _with_exports(
    manifest: Manifest, format_name: str, exports: Sequence[Export], found: Sequence[Predictions]
) -> Manifest:
    order = [SAFETENSORS, *FORMATS]
    others = [export for export in manifest.exports if export.format != format_name and export.format in order]
    flips = {**manifest.exported_flips, format_name: flip_table(found)}
    return replace(
        manifest,
        exports=tuple(sorted([*others, *exports], key=lambda export: order.index(export.format))),
        exported_flips={name: flips[name] for name in order if name in flips},
    )


def finish_family(folder: Path, manifest: Manifest) -> Family:
    """Write the cards and the manifest, and load the result."""
    write_manifest(folder, replace(manifest, cards=write_cards(folder, manifest)))
    return load_family(folder)


def _proof(folder: Path, small: Member, large: Member) -> dict[str, Any]:
    try:
        proof = containment_proof(map_tensors(folder / small.file), map_tensors(folder / large.file))
    except ArtifactError as error:
        raise ArtifactError(f"{large.name} does not contain {small.name}: {error}") from None
    return {"small": small.name, "large": large.name, **proof}
