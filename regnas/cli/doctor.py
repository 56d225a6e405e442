"""`doctor`: what the machine offers, and whether regnas works on it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from regnas.cli.app import app
from regnas.cli.output import say
from regnas.errors import EnvironmentProblem


@app.command()
def doctor(
    self_test: Annotated[
        bool, typer.Option("--self-test/--no-self-test", help="Train tiny networks, for at most a minute.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Examine this machine and run a self-test; paste the output into an issue. Exit code 5 if something failed."""
    from regnas.health import examine

    diagnosis = examine(self_test)
    say(json.dumps(diagnosis.to_json(), indent=2) if as_json else str(diagnosis))
    if not diagnosis.works:
        raise typer.Exit(EnvironmentProblem.exit_code)
