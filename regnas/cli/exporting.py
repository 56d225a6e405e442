"""`export` and `verify`: networks as files, and checks of these files."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from regnas.cli.app import Inexact, Out, Sets, Target, app
from regnas.cli.output import print_table, say
from regnas.cli.runs import continued_by
from regnas.errors import ConfigurationError


@app.command()
def export(
    target: Target,
    out: Out = None,
    set: Sets = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format", help="safetensors (always written), onnx or torch-export. Repeatable.", metavar="FORMAT"
        ),
    ] = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="Also write ONNX with 8-bit weights, calibrated on training images.")
    ] = False,
    weights_license: Annotated[
        str, typer.Option(help="The license of the weights, for the model cards.", metavar="LICENSE")
    ] = "",
    sign: Annotated[
        Path | None,
        typer.Option(
            help="Sign the manifest with this Ed25519 private key, a file of ssh-keygen or openssl.", metavar="KEY"
        ),
    ] = None,
    allow_inexact: Inexact = False,
) -> None:
    """Write every network as files with a manifest and a model card; run each file, and compare it with the network."""
    wanted = _further_formats(formats or (), int8)
    from regnas.family.export import disagreements, export_table
    from regnas.family.manifest import SIGNATURE
    from regnas.runs import api
    from regnas.runs.export_stage import polishing_interrupted
    from regnas.runs.folder import RunFolder

    options = [word for name in wanted if name != "onnx-int8" for word in ("--format", name)]
    options += [*(["--int8"] if int8 else []), *(["--sign", str(sign)] if sign else [])]
    with continued_by("export", *options, *(["--allow-inexact"] if allow_inexact else [])):
        family = api.export(
            target,
            out=out,
            set=set or (),
            formats=wanted,
            weights_license=weights_license,
            sign=sign,
            allow_inexact=allow_inexact,
        )
        print_table(export_table(family.manifest))
        for line in disagreements(family.manifest):
            say(line)
        run = family.folder.parent
        folder = RunFolder.open(run)
        if polishing_interrupted(folder, family):
            alpha = folder.facts["polish"]["alpha"]
            line = shlex.join(["regnas", "polish", str(run), *([] if alpha is None else ["--alpha", f"{alpha:g}"])])
            say(f"polishing was interrupted: these are the members from before it. Continue it with: {line}")
        if sign is not None:
            say(f"signed: {family.folder / SIGNATURE}")
        say(f"export: done, in {run}")


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="A run folder, or the folder of a manifest.", metavar="FOLDER")],
    key: Annotated[
        Path | None,
        typer.Option(help="Require a signature of the manifest by this Ed25519 public key.", metavar="PUBLIC_KEY"),
    ] = None,
) -> None:
    """Check the files of a family or an update against the manifest, and the manifest for contradictions."""
    from regnas.family.verifying import verify as check

    verification = check(folder, key=key).check()
    table = Table(box=None, pad_edge=False)
    for column in ("file", "content", "bytes", "sha256"):
        table.add_column(column, justify="right" if column == "bytes" else "left")
    for each in verification.files:
        table.add_row(*map(Text, (each.file, each.what, f"{each.bytes:,}", f"{each.sha256[:12]}…")))
    print_table(table)
    for note in verification.notes:
        say(note)
    say(f"{verification.folder} passed: all {len(verification.files)} files match the manifest")


def _further_formats(formats: list[str] | tuple[str, ...], int8: bool) -> list[str]:
    """Return the formats beside safetensors, in the given order."""
    from regnas.family.export import FORMATS

    known = ["safetensors", *(name for name in FORMATS if name != "onnx-int8")]
    problems = [f"--format {name}: unknown (known: {', '.join(known)})" for name in formats if name not in known]
    if problems:
        raise ConfigurationError(*problems)
    asked = [name for name in formats if name != "safetensors"]
    return list(dict.fromkeys([*asked, *(["onnx", "onnx-int8"] if int8 else [])]))
