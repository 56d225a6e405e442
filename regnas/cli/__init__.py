"""The commands: read the arguments, call the library, turn errors into one line and an exit code.

Each module adds its commands to the application. A command imports the library when it is called, so it starts quickly
and needs only the packages that it uses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from regnas.cli import comparing, doctor, exporting, listing, predicting, runs, supernets
from regnas.cli.app import app
from regnas.cli.flags import flags_of, name_flags
from regnas.cli.output import guarded_streams
from regnas.cli.progress import TerminalProgress
from regnas.errors import RegnasError, explain_missing_packages, first_line
from regnas.runtime.environment import environment_problems
from regnas.runtime.launcher import end_rank
from regnas.runtime.printable import escaped
from regnas.runtime.progress import listening
from regnas.runtime.secrets import hide_passwords
from regnas.runtime.signals import blocked_signals, quit_on_signals

__all__ = ["app", "comparing", "doctor", "exit_code", "exporting", "listing", "main", "predicting", "runs", "supernets"]


def main() -> None:
    """Run the command line; print a traceback only with --debug."""
    code = exit_code(sys.argv[1:], debug="--debug" in sys.argv[1:], end=quit_on_signals)
    end_rank(code)
    sys.exit(code)


def exit_code(arguments: list[str], debug: bool = False, end: Callable[[int], object] = lambda code: None) -> int:
    """Run a command, print errors on standard error, and return the exit code that errors.py defines.

    ``end`` is called with the code when everything is printed. A signal that comes meanwhile waits for it: without
    that, it would add a line of its own.
    """
    with guarded_streams():
        code, problems = _outcome(arguments, debug)
        with blocked_signals():
            for problem in problems:
                typer.echo(f"regnas: {problem}", err=True)
            end(code)
    return code


def _outcome(arguments: list[str], debug: bool) -> tuple[int, list[str]]:
    """Return the exit code of a command, and the problems to print."""
    command = next((each for each in arguments if not each.startswith("-")), "")
    try:
        with environment_problems(), explain_missing_packages(command or "regnas"), listening(TerminalProgress()):
            return _call(arguments), []
    except RegnasError as error:
        if debug:
            raise
        flags = flags_of(command)
        return error.exit_code, [escaped(name_flags(problem, flags)) for problem in error.problems]
    except MemoryError:
        if debug:
            raise
        remedy = ". Lower training.batch_size or machine.workers, and resume." if "set" in flags_of(command) else ""
        return 5, [f"out of memory{remedy}"]
    except Exception as error:
        if debug:
            raise
        summary = escaped(hide_passwords(f"{type(error).__name__}: {first_line(error)}"))
        return 1, [f"internal error: {summary}. Run again with --debug, and report it."]


def _call(arguments: list[str]) -> int:
    """Run the command, and flush standard output."""
    try:
        app(arguments, prog_name="regnas")
        code = 0
    except SystemExit as end:  # how typer ends, also after an error in the usage
        code = end.code if isinstance(end.code, int) else 0
    sys.stdout.flush()
    return code
