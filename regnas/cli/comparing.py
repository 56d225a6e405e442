"""`compare` and `gate`: predictions of models that others trained."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from regnas.cli.app import app
from regnas.errors import ConfigurationError

PREDICTIONS = "npz, CSV, Parquet or JSON lines with id, target and predicted"

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Markdown = Annotated[Path | None, typer.Option(help="Write Markdown; - for standard output.", metavar="PATH")]
Junit = Annotated[Path | None, typer.Option(help="Write JUnit XML.", metavar="PATH")]
Html = Annotated[Path | None, typer.Option(help="Write a page, one file that works offline.", metavar="PATH")]

STANDARD_OUTPUT = Path("-")


@app.command()
def compare(
    files: Annotated[list[Path], typer.Argument(help=f"At least two, from old to new: {PREDICTIONS}.")],
    as_json: Json = False,
    markdown: Markdown = None,
    html: Html = None,
    junit: Junit = None,
) -> None:
    """Find the flips between models from their predictions: every pair, and the classes and slices that regressed."""
    paths = {"--markdown": markdown, "--html": html, "--junit": junit}
    _check_outputs(files, paths, as_json)

    from regnas.comparison import comparison, joining
    from regnas.report.comparison import objects, tables
    from regnas.report.comparison.junit import junit_text

    result = comparison.compare(joining.join_files(files))

    def page() -> str:
        from regnas.report.comparison.html import html_text

        return html_text(result)

    texts: dict[str, Callable[[], str]] = {
        "--markdown": lambda: tables.markdown(result),
        "--html": page,
        "--junit": lambda: junit_text("regnas compare", tables.cases(result)),
    }
    said = objects.comparison_object(result) if as_json else tables.terminal(result)
    _deliver(said, as_json, {option: (path, texts[option]) for option, path in paths.items() if path})


@app.command()
def gate(
    old: Annotated[Path, typer.Argument(help=f"Predictions of what is in use: {PREDICTIONS}.")],
    new: Annotated[Path, typer.Argument(help="Predictions of what is to replace it.")],
    max_nfr: Annotated[
        float | None, typer.Option(help="The highest negative flip rate: 0.02 for 2 %.", metavar="RATE")
    ] = None,
    max_class_nfr: Annotated[
        float | None, typer.Option(help="The highest negative flip rate of any class.", metavar="RATE")
    ] = None,
    min_accuracy_gain: Annotated[
        float | None, typer.Option(help="The least gain in accuracy; below 0, what may be lost.", metavar="DIFFERENCE")
    ] = None,
    allow_unresolved: Annotated[
        bool, typer.Option("--allow-unresolved", help="Do not fail where the samples are too few to tell.")
    ] = False,
    as_json: Json = False,
    markdown: Markdown = None,
    junit: Junit = None,
) -> None:
    """Decide by intervals whether a new model may replace an old one: exit code 0 if it passes, 6 if it does not."""
    paths = {"--markdown": markdown, "--junit": junit}
    _check_outputs([old, new], paths, as_json)

    from regnas.comparison import gating, joining
    from regnas.report.comparison import gate_tables, objects
    from regnas.report.comparison.junit import junit_text

    limits = gating.Limits(max_nfr, max_class_nfr, min_accuracy_gain)
    result = gating.judge(joining.join_files([old, new]), limits)
    texts: dict[str, Callable[[], str]] = {
        "--markdown": lambda: gate_tables.gate_markdown(result),
        "--junit": lambda: junit_text("regnas gate", gate_tables.gate_cases(result, allow_unresolved)),
    }
    said = objects.gate_object(result) if as_json else gate_tables.gate_terminal(result)
    _deliver(said, as_json, {option: (path, texts[option]) for option, path in paths.items() if path})
    if not result.accepted(allow_unresolved):
        raise typer.Exit(6)


def _check_outputs(inputs: Sequence[Path], outputs: Mapping[str, Path | None], as_json: bool) -> None:
    """Before anything is read: one text at most goes to standard output, and no input is overwritten."""
    read = [path.absolute() for path in inputs]
    printed = ["--json"] if as_json else []
    for option, path in outputs.items():
        if path == STANDARD_OUTPUT:
            printed.append(f"{option} -")
        elif path is not None and path.absolute() in read:
            raise ConfigurationError(f"{option} {path} would overwrite the predictions: choose another name")
    if len(printed) > 1:
        raise ConfigurationError(f"{' and '.join(printed)} both write to standard output: give one of them a file")


def _deliver(said: Any, as_json: bool, outputs: Mapping[str, tuple[Path, Callable[[], str]]]) -> None:
    """Files first, so that what is printed last says that all is done; the table unless a text is printed instead."""
    from regnas.runtime.files import write_text

    written = []
    printed = ""
    for option, (path, text) in outputs.items():
        if path == STANDARD_OUTPUT:
            printed = text()
        else:
            write_text(path, text())
            written.append(f"{option.removeprefix('--')}: {path}")
    if as_json:
        typer.echo(json.dumps(said, ensure_ascii=False, allow_nan=False))
    elif printed:
        typer.echo(printed, nl=False)
    else:
        # Without a terminal rich would assume 80 columns and fold the intervals.
        Console(width=None if sys.stdout.isatty() else 140).print(said)
        for line in written:
            typer.echo(line)
