"""`export` and `verify`: the family as files, and whether files are still that family."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from regnas.cli.app import Inexact, Out, Sets, Target, app
from regnas.cli.runs import configuration, print_wide, running
from regnas.errors import ArtifactError, ConfigurationError, explain_missing_packages

if TYPE_CHECKING:
    from regnas.family.manifest import Manifest
    from regnas.space import Cost


@app.command()
def export(
    target: Target,
    out: Out = None,
    sets: Sets = None,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="safetensors (always written), onnx or torch-export; may be repeated."),
    ] = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="Also ONNX in eight bits, calibrated on training images.")
    ] = False,
    weights_license: Annotated[str, typer.Option(help="The license of the weights, for the model cards.")] = "",
    allow_inexact: Inexact = False,
) -> None:
    """Write each member on its own, with the manifest and a card; every file is run and compared with the member."""
    wanted = _wanted(formats or (), int8)
    from regnas.family.export import disagreements, export_table, require_packages
    from regnas.runs.config import load_config, parse_config
    from regnas.runs.pipeline import export_files

    require_packages(wanted)
    config, path = configuration(target, out, sets, load_config, parse_config)
    options = "".join(f" --format {name}" for name in wanted if name != "onnx-int8") + (" --int8" if int8 else "")
    with running(config, path, "resume", allow_inexact, f"export{options}") as folder:
        if weights_license:
            folder.keep("weights_license", weights_license)
        family = export_files(config, folder, wanted)
    print_wide(export_table(family.manifest))
    for line in disagreements(family.manifest):
        typer.echo(line)
    typer.echo(f"export: done, in {path}")


@app.command()
def verify(folder: Annotated[Path, typer.Argument(help="The folder of a family, or of its run.")]) -> None:
    """Check every file of a family against its manifest, and the manifest against itself; offline."""
    from regnas.family.manifest import family_folder, verify_family

    found = family_folder(folder)
    verification = verify_family(found, _costs)
    if verification.problems:
        raise ArtifactError(*verification.problems)
    table = Table(box=None, pad_edge=False)
    for column in ("file", "what it is", "bytes", "sha256"):
        table.add_column(column, justify="right" if column == "bytes" else "left")
    for each in verification.files:
        table.add_row(*map(Text, (each.file, each.what, f"{each.bytes:,}", f"{each.sha256[:12]}…")))
    print_wide(table)
    for note in verification.notes:
        typer.echo(note)
    typer.echo(f"{found} is whole: {len(verification.files)} files are what the manifest says")


def _wanted(formats: list[str] | tuple[str, ...], int8: bool) -> list[str]:
    """The formats beside safetensors, in the order asked for."""
    known = ("safetensors", "onnx", "torch-export")
    problems = [f"--format {name}: unknown (known: {', '.join(known)})" for name in formats if name not in known]
    if problems:
        raise ConfigurationError(*problems)
    asked = [name for name in formats if name != "safetensors"]
    return list(dict.fromkeys([*asked, *(["onnx", "onnx-int8"] if int8 else [])]))


def _costs(manifest: Manifest) -> Mapping[str, Cost]:
    # The plug-in needs torch, and nothing else that is verified does.
    with explain_missing_packages("counting them"):
        from regnas.family.costs import architecture_costs

        return architecture_costs(manifest)
