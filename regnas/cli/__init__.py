"""The commands: read the arguments, call the library, turn errors into one line and an exit code.

Each module adds its commands to the application. A command imports the library when it is called: it starts quickly
and needs only the packages that it uses.
"""

from __future__ import annotations

import sys

import typer

from regnas.cli import comparing, exporting, listing, predicting, runs, supernets
from regnas.cli.app import app
from regnas.cli.flags import flags_of, name_flags
from regnas.cli.progress import TerminalProgress
from regnas.errors import RegnasError, explain_missing_packages, first_line
from regnas.runtime.progress import listening

__all__ = ["app", "comparing", "exit_code", "exporting", "listing", "main", "predicting", "runs", "supernets"]


def main() -> None:
    """Run the command line; print a traceback only with --debug."""
    debug = "--debug" in sys.argv[1:]
    sys.exit(exit_code(sys.argv[1:], debug))


def exit_code(arguments: list[str], debug: bool = False) -> int:
    """Run a command, print errors on standard error, and return the exit code that errors.py defines."""
    command = next((each for each in arguments if not each.startswith("-")), "")
    try:
        with explain_missing_packages(command or "regnas"), listening(TerminalProgress()):
            app(arguments, prog_name="regnas")
        return 0
    except SystemExit as end:  # how typer ends, also after an error in the usage
        return end.code if isinstance(end.code, int) else 0
    except RegnasError as error:
        if debug:
            raise
        flags = flags_of(command)
        for problem in error.problems:
            typer.echo(f"regnas: {_printable(name_flags(problem, flags))}", err=True)
        return error.exit_code
    except MemoryError:
        if debug:
            raise
        remedy = ". Lower training.batch_size or machine.workers, and resume." if "set" in flags_of(command) else ""
        typer.echo(f"regnas: out of memory{remedy}", err=True)
        return 5
    except Exception as error:
        if debug:
            raise
        summary = f"{type(error).__name__}: {first_line(error)}"
        typer.echo(f"regnas: internal error: {summary}. Run again with --debug, and report it.", err=True)
        return 1


def _printable(problem: str) -> str:
    """Escape characters that are not printable: a file name must not break the line or control the terminal."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in problem
    )
