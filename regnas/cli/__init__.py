"""The commands, thin: read the arguments, call what does the work, turn problems into one line and an exit code.

Each module adds its commands to the application, and imports what they need when they are called, so that a command
starts as quickly as its own work allows.
"""

from __future__ import annotations

import sys

import typer

from regnas.cli import comparing, exporting, listing, predicting, runs, supernets
from regnas.cli.app import app
from regnas.cli.progress import TerminalProgress
from regnas.errors import RegnasError
from regnas.runtime.progress import listening

__all__ = ["app", "comparing", "exit_code", "exporting", "listing", "main", "predicting", "runs", "supernets"]


def main() -> None:
    """The entry point: exit codes as errors.py defines them, a traceback only with --debug."""
    debug = "--debug" in sys.argv[1:]
    sys.exit(exit_code(sys.argv[1:], debug))


def exit_code(arguments: list[str], debug: bool = False) -> int:
    """Run the command and say on standard error what went wrong."""
    try:
        with listening(TerminalProgress()):
            app(arguments)
        return 0
    except SystemExit as end:  # how typer ends, also after it has explained wrong usage
        return end.code if isinstance(end.code, int) else 0
    except RegnasError as error:
        if debug:
            raise
        for problem in error.problems:
            typer.echo(f"regnas: {_printable(problem)}", err=True)
        return error.exit_code
    except MemoryError:
        if debug:
            raise
        typer.echo("regnas: out of memory: lower training.batch_size or machine.workers and resume", err=True)
        return 5
    except Exception as error:
        if debug:
            raise
        summary = str(error).splitlines()[0] if str(error) else ""
        typer.echo(f"regnas: a bug in regnas: {type(error).__name__}: {summary}; run again with --debug", err=True)
        return 1


def _printable(problem: str) -> str:
    """A problem is one line and commands no terminal, whatever the files in it are called."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in problem
    )
