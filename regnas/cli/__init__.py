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
from regnas.cli.streams import checked_streams
from regnas.errors import RegnasError, explain_missing_packages, first_line
from regnas.runtime.files import problem_behind
from regnas.runtime.progress import listening

__all__ = ["app", "comparing", "exit_code", "exporting", "listing", "main", "predicting", "runs", "supernets"]


def main() -> None:
    """Run the command line; print a traceback only with --debug."""
    debug = "--debug" in sys.argv[1:]
    with checked_streams():
        code = exit_code(sys.argv[1:], debug)
    sys.exit(code)


def exit_code(arguments: list[str], debug: bool = False) -> int:
    """Run a command, print errors on standard error, and return the exit code that errors.py defines."""
    command = next((each for each in arguments if not each.startswith("-")), "")
    try:
        with explain_missing_packages(command or "regnas"), listening(TerminalProgress()):
            return _run(arguments)
    except RegnasError as error:
        if debug:
            raise
        return _explain(error, command)
    except MemoryError:
        if debug:
            raise
        remedy = ". Lower training.batch_size or machine.workers, and resume." if "set" in flags_of(command) else ""
        typer.echo(f"regnas: out of memory{remedy}", err=True)
        return 5
    except Exception as error:
        if debug:
            raise
        if problem := problem_behind(error):
            return _explain(problem, command)
        summary = f"{type(error).__name__}: {first_line(error)}"
        typer.echo(f"regnas: internal error: {summary}. Run again with --debug, and report it.", err=True)
        return 1


def _run(arguments: list[str]) -> int:
    """Run a command and write all of its output; a command whose output is lost has not succeeded."""
    code = 0
    try:
        app(arguments, prog_name="regnas")
    except SystemExit as end:  # how typer ends, also after an error in the usage
        code = end.code if isinstance(end.code, int) else 0
    sys.stdout.flush()
    return code


def _explain(error: RegnasError, command: str) -> int:
    flags = flags_of(command)
    for problem in error.problems:
        typer.echo(f"regnas: {_printable(name_flags(problem, flags))}", err=True)
    return error.exit_code


def _printable(problem: str) -> str:
    """Escape characters that are not printable: a file name must not break the line or control the terminal."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in problem
    )
