"""The application that all commands belong to, and the options that several of them share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from regnas.cli.help import GroupedCommands
from regnas.errors import ConfigurationError

app = typer.Typer(
    cls=GroupedCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Replace a model without breaking what worked: measure, gate and reduce negative flips.",
)

Target = Annotated[
    str, typer.Argument(help="A configuration file, the name of a preset, or a run folder.", metavar="CONFIG")
]
Out = Annotated[
    Path | None, typer.Option(help="The run folder. Default: runs/NAME, NAME of the configuration.", metavar="FOLDER")
]
Tune = Annotated[
    bool,
    typer.Option("--tune", help='Choose every key that is "auto" again, even if [chosen] has a value.'),
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a key, for example training.epochs=3. Repeatable.", metavar="KEY=VALUE"),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Delete the run in the folder, and start again.")]
Executor = Annotated[
    str | None,
    typer.Option(help="Where candidates run: inline, processes=4 or dask=tcp://host:8786.", metavar="WHERE"),
]
Inexact = Annotated[
    bool, typer.Option("--allow-inexact", help="Continue on a different machine or with different versions.")
]


SEVERAL_PROCESSES = ("run", "train")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"regnas {version('regnas')}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Handle the options of all commands; ``main`` reads --debug, because it catches the errors."""
    if os.environ.get("WORLD_SIZE", "1") != "1" and context.invoked_subcommand not in SEVERAL_PROCESSES:
        from regnas.runtime.processes import current_processes

        processes = current_processes()
        with processes.speaking_once():
            raise ConfigurationError(
                f"{context.invoked_subcommand} must run in one process, got {processes.count} (WORLD_SIZE). "
                f"Use torchrun only for {' and '.join(SEVERAL_PROCESSES)}."
            )
