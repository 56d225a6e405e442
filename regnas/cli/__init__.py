"""The commands, thin: read the arguments, call the code that does the work, turn errors into one line and an exit code.

Each module adds its commands to the application. It imports what they need when they are called, so that a command
starts quickly and needs only the packages that it uses.
"""

from __future__ import annotations

import sys

import typer

from regnas.cli import comparing, exporting, listing, predicting, runs, supernets
from regnas.cli.app import app
from regnas.cli.progress import TerminalProgress
from regnas.errors import RegnasError, explain_missing_packages
from regnas.runtime.progress import listening

__all__ = ["app", "comparing", "exit_code", "exporting", "listing", "main", "predicting", "runs", "supernets"]


def main() -> None:
    """Run the command line; print a traceback only with --debug."""
    debug = "--debug" in sys.argv[1:]
    sys.exit(exit_code(sys.argv[1:], debug))


def exit_code(arguments: list[str], debug: bool = False) -> int:
    """Run a command, print what went wrong on standard error, and return the exit code that errors.py defines."""
    command = next((each for each in arguments if not each.startswith("-")), "")
    try:
        with explain_missing_packages(command or "regnas"), listening(TerminalProgress()):
            app(arguments, prog_name="regnas")
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
        typer.echo("regnas: out of memory. Lower training.batch_size or machine.workers, then resume.", err=True)
        return 5
    except Exception as error:
        if debug:
            raise
        summary = str(error).splitlines()[0] if str(error) else ""
        typer.echo(
            f"regnas: internal error: {type(error).__name__}: {summary}. Run again with --debug and report it.",
            err=True,
        )
        return 1


def _printable(problem: str) -> str:
    """Escape what is not printable: a problem stays one line and cannot control the terminal through a file name."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in problem
    )
