"""Tables of members and exported files for the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from regnas.family.manifest import Manifest
from regnas.report.kit.formatting import percent, percent_interval
from regnas.space import format_macs


def export_table(manifest: Manifest) -> Table:
    """Return one row per file: its predictions against the PyTorch network, and the flips among files of a format."""
    title = Text(f"exported files on {manifest.flip_table.samples:,} images: Top-1 and flips in percent")
    table = Table(title=title, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in ("File", "Format"):
        table.add_column(column)
    numbers = (
        "Bytes",
        "Top-1",
        "dis-\nagree",
        "NFR",
        "PFR",
        "largest logit\ndifference",
        "mean NFR\namong files",
    )
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=True)
    for export in manifest.exports:
        among = manifest.exported_flips[export.format]
        first = export.member == among.models[0]  # a number of all files of a format is printed once
        cells = (
            export.file,
            export.format,
            f"{export.bytes:,}",
            percent(export.top1),
            f"{export.disagreements:,}",
            percent(export.nfr),
            percent(export.pfr),
            f"{export.largest_logit_difference:.2g}",
            percent(among.mean_nfr()) if first and len(among.models) > 1 else "",
        )
        table.add_row(*(Text(cell) for cell in cells))
    return table


def family_table(manifest: Manifest) -> Table:
    """Return one row per member: its size, its Top-1, and its negative flips against every smaller member."""
    names = [member.name for member in manifest.members]
    title = Text(f"{len(names)} members on {manifest.flip_table.samples:,} images: Top-1 and negative flips in percent")
    table = Table(title=title, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Member")
    for column in ("MACs", "Parameters", "Top-1 [95 %]", *(f"NFR\n{name} →" for name in names[:-1])):
        table.add_column(Text(column), justify="right", no_wrap=True)
    for place, member in enumerate(manifest.members):
        rates = manifest.flip_table.nfr[:, place]  # from each member to this one
        flips = [percent(rate) if before < place else "" for before, rate in enumerate(rates)]
        top1 = f"{percent(member.top1)} {percent_interval(member.top1_interval)}"
        cells = (member.name, format_macs(member.macs), f"{member.parameters:,}", top1, *flips[:-1])
        table.add_row(*(Text(cell) for cell in cells))
    return table


def disagreements(manifest: Manifest) -> list[str]:
    """Return one line per file whose predictions differ from those of its member."""
    return [
        f"{export.file} disagrees with {export.member} on {export.disagreements:,} of "
        f"{manifest.flip_table.samples:,} images: {percent(export.nfr)} % become wrong, {percent(export.pfr)} % correct"
        for export in manifest.exports
        if export.disagreements
    ]
