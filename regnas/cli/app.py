"""The application that the commands belong to, and the options that several of them share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from regnas.errors import ConfigurationError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Families of classifiers that do not regress.",
)

Target = Annotated[str, typer.Argument(help="A configuration (path or name of a preset), or a run folder.")]
Out = Annotated[Path | None, typer.Option(help="The run folder; by default runs/<name of the configuration>.")]
Tune = Annotated[
    bool,
    typer.Option("--tune", help='Choose every key that is "auto" on the search split again, whatever \\[chosen] says.'),
]
Sets = Annotated[list[str] | None, typer.Option("--set", help="Change a key: training.epochs=3.", metavar="KEY=VALUE")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Delete the run in the folder and start anew.")]
Executor = Annotated[
    str | None,
    typer.Option(help="Where candidates are run: inline, processes=4 or dask=tcp://host:8786.", metavar="WHERE"),
]
Inexact = Annotated[bool, typer.Option("--allow-inexact", help="Continue on another machine or other versions.")]


SEVERAL_PROCESSES = ("run", "train")


@app.callback()
def options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options of all commands; --debug is looked at where errors are caught, in main."""
    if os.environ.get("WORLD_SIZE", "1") != "1" and context.invoked_subcommand not in SEVERAL_PROCESSES:
        from regnas.runtime.processes import current_processes

        processes = current_processes()
        with processes.speaking_once():
            raise ConfigurationError(
                f"{context.invoked_subcommand} is the work of one process, not of {processes.count} (WORLD_SIZE): "
                f"torchrun is for {' and '.join(SEVERAL_PROCESSES)}"
            )
