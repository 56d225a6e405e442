"""Library errors in terms of the command line.

Library errors name arguments as Python callers write them, in backticks: `out`, `resume=True`. Here each becomes the
option of the running command: --out, --resume. An argument that the command does not have keeps its Python name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import typer

from regnas.cli.app import app

ARGUMENT = re.compile(r"`([a-z_0-9]+)(?:=True)?`")


def flags_of(command: str) -> dict[str, str]:
    """Return the options of a command by the names of its arguments: {"set": "--set"}; {} for an unknown command."""
    known = getattr(typer.main.get_command(app), "commands", {})
    parameters = known[command].params if command in known else []
    return {each.name: each.opts[0] for each in parameters if each.opts[0].startswith("--")}


def name_flags(problem: str, flags: Mapping[str, str]) -> str:
    """Replace the arguments in a problem by the options of the command.

    Example:
        >>> name_flags("Continue with `resume=True`, or choose another `out`.", {"resume": "--resume", "out": "--out"})
        'Continue with --resume, or choose another --out.'
    """
    return ARGUMENT.sub(lambda found: flags.get(found[1], found[0]), problem)
