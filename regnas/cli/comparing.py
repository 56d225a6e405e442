"""The commands `compare` and `gate`: thin layers over `regnas.compare` and `regnas.gate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from regnas.cli.app import app
from regnas.cli.output import print_table, say, wide_console
from regnas.errors import ConfigurationError

PREDICTIONS = "npz, CSV, Parquet or JSON lines with id, target and predicted"

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Markdown = Annotated[Path | None, typer.Option(help="Write Markdown; - for standard output.", metavar="PATH")]
Junit = Annotated[Path | None, typer.Option(help="Write JUnit XML.", metavar="PATH")]
Html = Annotated[Path | None, typer.Option(help="Write a page, one file that works offline.", metavar="PATH")]

STANDARD_OUTPUT = Path("-")


@app.command()
def compare(
    files: Annotated[
        list[Path],
        typer.Argument(help=f"At least two prediction files, from old to new: {PREDICTIONS}.", metavar="FILES..."),
    ],
    as_json: Json = False,
    ids: Annotated[bool, typer.Option("--ids", help="Add the ids of all flipped samples to the JSON object.")] = False,
    markdown: Markdown = None,
    html: Html = None,
    junit: Junit = None,
) -> None:
    """Count the flips between models, for every pair and for the classes and slices that regressed."""
    paths = {"--markdown": markdown, "--html": html, "--junit": junit}
    _check_outputs(files, paths, as_json)
    if ids and not as_json:
        raise ConfigurationError("--ids must come with --json")

    from regnas.comparison.api import compare
    from regnas.report.comparison import tables
    from regnas.report.comparison.junit import junit_text

    result = compare(files)
    texts: dict[str, Callable[[], str]] = {
        "--markdown": result.to_markdown,
        "--html": lambda: result.to_html() or "",
        "--junit": lambda: junit_text("regnas compare", tables.cases(result)),
    }
    console = wide_console()
    said = result.to_json(ids) if as_json else tables.terminal(result, console.width)
    _deliver(said, console, {option: (path, texts[option]) for option, path in paths.items() if path})


@app.command()
def gate(
    old: Annotated[Path, typer.Argument(help=f"Predictions of the old model: {PREDICTIONS}.", metavar="OLD")],
    new: Annotated[Path, typer.Argument(help="Predictions of the new model.", metavar="NEW")],
    max_nfr: Annotated[
        float | None, typer.Option(help="The highest negative flip rate: 0.02 for 2 %.", metavar="RATE")
    ] = None,
    max_class_nfr: Annotated[
        float | None, typer.Option(help="The highest negative flip rate of any class.", metavar="RATE")
    ] = None,
    min_accuracy_gain: Annotated[
        float | None, typer.Option(help="Minimum accuracy gain; negative values allow a loss.", metavar="DIFFERENCE")
    ] = None,
    allow_unresolved: Annotated[
        bool, typer.Option("--allow-unresolved", help="Do not fail if there are too few samples to decide.")
    ] = False,
    as_json: Json = False,
    markdown: Markdown = None,
    junit: Junit = None,
) -> None:
    """Decide by 95 % intervals whether a new model may replace an old one. Exit code: 0 for pass, 6 otherwise."""
    paths = {"--markdown": markdown, "--junit": junit}
    _check_outputs([old, new], paths, as_json)

    from regnas.comparison.api import gate
    from regnas.report.comparison import gate_tables
    from regnas.report.comparison.junit import junit_text

    verdict = gate(old, new, max_nfr=max_nfr, max_class_nfr=max_class_nfr, min_accuracy_gain=min_accuracy_gain)
    texts: dict[str, Callable[[], str]] = {
        "--markdown": verdict.to_markdown,
        "--junit": lambda: junit_text("regnas gate", gate_tables.gate_cases(verdict, allow_unresolved)),
    }
    said = verdict.to_json() if as_json else gate_tables.gate_terminal(verdict)
    _deliver(said, wide_console(), {option: (path, texts[option]) for option, path in paths.items() if path})
    if not verdict.accepted(allow_unresolved):
        raise typer.Exit(6)


def _check_outputs(inputs: Sequence[Path], outputs: Mapping[str, Path | None], as_json: bool) -> None:
    """Check, before anything is read, that at most one text goes to standard output and no input is overwritten."""
    read = [path.absolute() for path in inputs]
    printed = ["--json"] if as_json else []
    for option, path in outputs.items():
        if path == STANDARD_OUTPUT:
            printed.append(f"{option} -")
        elif path is not None and path.absolute() in read:
            raise ConfigurationError(f"{option} {path} would overwrite the predictions. Choose another name.")
    if len(printed) > 1:
        raise ConfigurationError(f"{' and '.join(printed)} both write to standard output. Give one of them a file.")


def _deliver(said: Any, console: Console, outputs: Mapping[str, tuple[Path, Callable[[], str]]]) -> None:
    """Write the files, then print: a JSON text, a text for standard output, or else the tables."""
    from regnas.runtime.files import write_text

    written = []
    printed = f"{said}\n" if isinstance(said, str) else ""
    for option, (path, text) in outputs.items():
        if path == STANDARD_OUTPUT:
            printed = text()
        else:
            write_text(path, text())
            written.append(f"{option.removeprefix('--')}: {path}")
    if printed:
        typer.echo(printed, nl=False)
    else:
        print_table(said, console)
        for line in written:
            say(line)
