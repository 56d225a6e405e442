"""Write a model card per member in Markdown: its description, costs, accuracy and flips."""

from __future__ import annotations

import json
from pathlib import Path

from regnas.family.manifest import Card, Manifest, Member
from regnas.report.kit.documents import encode_document, write_document
from regnas.report.kit.formatting import percent, percent_interval
from regnas.report.kit.markdown import markdown_table, plain
from regnas.runtime.files import sha256_of
from regnas.space import format_macs


def write_cards(folder: Path, manifest: Manifest) -> tuple[Card, ...]:
    """Write one file per member; leave files unchanged that have the same text already."""
    cards = []
    for member in manifest.members:
        path, text = folder / f"{member.name}.md", card_text(manifest, member)
        if not path.is_file() or path.is_symlink() or path.read_bytes() != encode_document(text):
            write_document(path, text)
        cards.append(Card(member.name, path.name, sha256_of(path), path.stat().st_size))
    return tuple(cards)


def card_text(manifest: Manifest, member: Member) -> str:
    """Return the card of a member."""
    parts = [
        f"# {plain(member.name)}",
        f"{_update_lead(member) if manifest.is_update else _family_lead(manifest)} Made by regnas "
        f"{plain(manifest.version)}.",
        markdown_table(("", "value"), _facts(manifest, member)),
    ]
    others = [] if manifest.is_update else [other.name for other in manifest.members if other is not member]
    if others:
        parts += [
            "## Flips against the other members",
            "Percent of the report split: NFR, correct by the first and wrong by the second; PFR, the reverse.",
            markdown_table(("replacement", "NFR", "PFR"), _flips(manifest, member, others)),
        ]
    if any(export.member == member.name for export in manifest.exports):
        parts += [
            "## Files",
            "Every file was run on the report split and compared with the PyTorch network: the number of different "
            "predictions, the flips among them in percent, and the largest difference of a logit.",
            markdown_table(
                ("file", "format", "bytes", "sha256", "Top-1", "disagreements", "NFR", "PFR", "logit difference"),
                _files(manifest, member),
            ),
        ]
    parts += [
        "## Licenses",
        markdown_table(
            ("", "license"), [("regnas, which made it", "Apache-2.0"), ("these weights", manifest.weights_license)]
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _family_lead(manifest: Manifest) -> str:
    return (
        f"An image classifier, one of {len(manifest.members)} of a family (REG-NAS). The larger members contain the "
        "weights of the smaller ones and were searched to make few new mistakes on images that the smaller ones "
        "classify correctly."
    )


def _update_lead(member: Member) -> str:
    return (
        f"An image classifier that replaces an older model, made by the method {plain(member.method)} with seed "
        f"{member.seed}, in a comparison of methods of updating a model."
    )


def _facts(manifest: Manifest, member: Member) -> list[tuple[str, str]]:
    channels, height, width = manifest.input_shape
    origin = [("Method", member.method), ("Seed", str(member.seed))]
    if member.architecture is not None:
        origin = [("Budget", member.budget), ("Search space", member.architecture.space)]
    return [
        ("Top-1, percent [95 %]", f"{percent(member.top1)} {percent_interval(member.top1_interval)}"),
        ("Report split", f"{manifest.flip_table.samples:,} images"),
        ("MACs per image", f"{member.macs:,} ({format_macs(member.macs)})"),
        ("Parameters", f"{member.parameters:,}"),
        *origin,
        ("Input", f"images, float32 [batch, {channels}, {height}, {width}], preprocessed"),
        ("Preprocessing", f"(x / 255 - mean) / std per channel: {json.dumps(manifest.preprocessing)}"),
        ("Output", f"logits of {len(manifest.classes):,} classes: {', '.join(manifest.classes)}"),
        ("Data digest", str(manifest.data.get("digest", ""))),
        ("Digest of the report split", str(manifest.data.get("report", ""))),
    ]


def _flips(manifest: Manifest, member: Member, others: list[str]) -> list[tuple[str, str, str]]:
    rows = []
    order = [each.name for each in manifest.members]
    for other in others:
        small, large = sorted((member.name, other), key=order.index)
        pair = manifest.flip_table.pair(small, large)
        rows.append((f"{small} by {large}", percent(pair.nfr), percent(pair.pfr)))
    return rows


def _files(manifest: Manifest, member: Member) -> list[tuple[str, ...]]:
    return [
        (
            export.file,
            export.format,
            f"{export.bytes:,}",
            export.sha256,
            percent(export.top1),
            f"{export.disagreements:,}",
            percent(export.nfr),
            percent(export.pfr),
            f"{export.largest_logit_difference:.2g}",
        )
        for export in manifest.exports
        if export.member == member.name
    ]
