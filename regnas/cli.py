"""The commands, thin: read the arguments, call the pipeline, turn problems into one line and an exit code."""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from regnas.errors import ConfigurationError, Interrupted, RegnasError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Families of classifiers that do not regress.",
)

Target = Annotated[str, typer.Argument(help="A configuration (path or name of a preset), or a run folder.")]
Out = Annotated[Path | None, typer.Option(help="The run folder; by default runs/<name of the configuration>.")]
Sets = Annotated[list[str] | None, typer.Option("--set", help="Change a key: training.epochs=3.", metavar="KEY=VALUE")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Delete the run in the folder and start anew.")]
Executor = Annotated[
    str | None,
    typer.Option(help="Where candidates are run: inline, processes=4 or dask=tcp://host:8786.", metavar="WHERE"),
]
Inexact = Annotated[bool, typer.Option("--allow-inexact", help="Continue on another machine or other versions.")]


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options of all commands; --debug is looked at where errors are caught, in main."""


@app.command()
def run(
    config: Target,
    out: Out = None,
    sets: Sets = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    executor: Executor = None,
    allow_inexact: Inexact = False,
) -> None:
    """From a data set to a family and its report: train, search, export, baselines, report."""
    _run(config, out, sets, resume, overwrite, allow_inexact, "report", executor)


@app.command()
def train(
    config: Target,
    out: Out = None,
    sets: Sets = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    allow_inexact: Inexact = False,
) -> None:
    """Train the supernet."""
    _run(config, out, sets, resume, overwrite, allow_inexact, "train")


@app.command()
def search(
    target: Target,
    out: Out = None,
    sets: Sets = None,
    executor: Executor = None,
    add_budget: Annotated[
        list[str] | None,
        typer.Option(help="Extend the family by a member in between: 450M or tablet=450M.", metavar="[NAME=]BUDGET"),
    ] = None,
    allow_inexact: Inexact = False,
) -> None:
    """Search the family in the supernet (which is trained first if it is not yet)."""
    last = "export" if add_budget else "search"  # a family that was exported is exported anew
    _run(target, out, sets, True, False, allow_inexact, last, executor, add_budget or ())


@app.command()
def export(target: Target, out: Out = None, sets: Sets = None, allow_inexact: Inexact = False) -> None:
    """Write each member on its own, with the manifest."""
    _run(target, out, sets, True, False, allow_inexact, "export")


@app.command()
def baselines(target: Target, out: Out = None, sets: Sets = None, allow_inexact: Inexact = False) -> None:
    """Train and search what one would have done instead."""
    _run(target, out, sets, True, False, allow_inexact, "baselines")


@app.command()
def report(target: Target, out: Out = None, sets: Sets = None, allow_inexact: Inexact = False) -> None:
    """Write the report, after whatever of the run is still missing."""
    _run(target, out, sets, True, False, allow_inexact, "report")


@app.command()
def update(
    config: Target,
    out: Out = None,
    sets: Sets = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(help="Draw a trade-off: bcwi.alpha=0:1:0.1.", metavar="METHOD.KEY=START:STOP:STEP"),
    ] = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    allow_inexact: Inexact = False,
) -> None:
    """Compare ways of replacing an old model by a new one: error rates and flips of every method in one table."""
    from regnas.report import update_terminal_table
    from regnas.run_folder import RUN
    from regnas.update.config import load_update, parse_update
    from regnas.update.study import run_update
    from regnas.update.sweeps import Sweep

    sweeps = [Sweep.parse(text) for text in sweep or ()]
    reuse = _reuse(resume, overwrite)
    if (Path(config) / RUN).exists() and reuse == "refuse":
        reuse = "resume"
    loaded, path = _configuration(config, out, sets, load_update, parse_update)
    for each in sweeps:  # before anything is written
        each.variants(loaded.values.methods)
    with _running(loaded, path, reuse, allow_inexact, "update") as folder:
        results = run_update(loaded, folder, sweep or ())
    _print_wide(update_terminal_table(results))
    typer.echo(f"report: {folder.report / 'index.html'}")


@app.command()
def validate(config: Target, sets: Sets = None) -> None:
    """Check a configuration without training; print the attainable range of the budgets, or the update's methods."""
    from regnas.config import is_update, load_table, parse_config, timed
    from regnas.pipeline import check_budgets, imported_weights
    from regnas.space import format_macs, latency_range
    from regnas.supernet import space_of

    name, content = load_table(config, sets or ())
    if is_update(content):
        _validate_update(name, content)
        return
    loaded = parse_config(name, content)
    splits = loaded.values.data.load()
    imported_weights(loaded, splits)  # refused here already, where they do not belong
    space = space_of(loaded.values.supernet, splits.input_shape, len(splits.classes))
    space = timed(space, loaded.values.search, loaded.values.budgets, splits.input_shape, len(splits.classes))
    low, high = space.macs_range
    typer.echo(f"attainable: {format_macs(low)} to {format_macs(high)} MACs ({low:,} to {high:,})")
    if loaded.values.search.latency_table:
        quickest, slowest = latency_range(space)
        typer.echo(f"attainable: {quickest:.3g} to {slowest:.3g} ms, by {loaded.values.search.latency_table}")
    for name, count in check_budgets(loaded.values.budgets, space).items():
        typer.echo(f"budgets.{name}: {loaded.values.budgets[name]}, about {count:,.0f} architectures")
    typer.echo(f"{loaded.name} is valid")


def _validate_update(name: str, content: dict[str, Any]) -> None:
    from regnas.update.config import parse_update
    from regnas.update.study import check_update

    loaded = parse_update(name, content)
    scenario, trainings = check_update(loaded)
    typer.echo(f"scenario: {scenario}")
    methods, seeds = len(loaded.values.methods), len(loaded.values.seeds)
    typer.echo(f"{methods} methods, {trainings} trainings for each of {seeds} seeds")
    typer.echo(f"{name} is valid")


@app.command(name="import-ofa")
def import_ofa(
    source: Annotated[str, typer.Argument(help="The name of a published supernet, or a checkpoint of your own.")],
    file: Annotated[Path | None, typer.Option(help="The file of the published supernet, where you have it.")] = None,
    supernet: Annotated[str, typer.Option(help="What your checkpoint is; by default the one it fits.")] = "",
    name: Annotated[str, typer.Option(help="What to call your checkpoint; by default as its file.")] = "",
    to: Annotated[Path | None, typer.Option(help="The folder to keep it in; by default in ~/.cache/regnas.")] = None,
) -> None:
    """Convert a supernet that others trained, so that a configuration can start from it."""
    from regnas.config import describe
    from regnas.imports import default_store, import_supernet

    imported, fresh = import_supernet(source, to or default_store(), file, supernet, name)
    table = describe({"supernet": imported.supernet}, "supernet")
    typer.echo(f"{imported.name} is {'imported' if fresh else 'there already'}: {table}, {imported.classes:,} classes")
    typer.echo(f"{imported.path}, sha256 {imported.sha256}")
    typer.echo(f'start from it with: weights = "{imported.path if to else imported.name}"')


@app.command(name="latency-table")
def latency_table(
    config: Annotated[str, typer.Argument(help="A configuration (path or name of a preset).")],
    out: Annotated[
        Path | None,
        typer.Option(help="The table; by default what search.latency_table names, or <name>-latency.json."),
    ] = None,
    sets: Sets = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Images of a pass.")] = 1,
    threads: Annotated[int | None, typer.Option(help="By default machine.threads.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda or mps; by default machine.device.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Measure again what is measured.")] = False,
) -> None:
    """Measure on this machine what the networks of a supernet take, for budgets in milliseconds."""
    import torch

    from regnas.config import load_config
    from regnas.evaluation import finished_table, measure_latencies
    from regnas.runtime.machine import choose_device, describe_machine
    from regnas.runtime.signals import postponed_signals
    from regnas.space import Conditions, latency_range, with_latencies
    from regnas.supernet import space_of

    wishes = {"machine.threads": threads, "machine.device": device}
    loaded = load_config(
        config, [*(sets or ()), *(f"{key}={value}" for key, value in wishes.items() if value is not None)]
    )
    values = loaded.values
    path = out or Path(values.search.latency_table or f"{loaded.name}-latency.json")
    if values.machine.threads:
        torch.set_num_threads(values.machine.threads)
    place = choose_device(values.machine.device)
    splits = values.data.load()
    space = space_of(values.supernet, splits.input_shape, len(splits.classes))
    machine = describe_machine(place)
    conditions = Conditions(space.name, splits.input_shape, len(splits.classes), batch_size, machine)
    table = finished_table(path, space, conditions, overwrite)
    if table is not None:
        typer.echo(f"{path} is measured already: --overwrite measures it again")
    else:
        with postponed_signals(), _repeatable():
            table = measure_latencies(values.supernet, space, conditions, place, path)
    low, high = latency_range(with_latencies(space, table))
    typer.echo(f"attainable: {low:.3g} to {high:.3g} ms ({conditions})")
    typer.echo(f"check: {table.additivity}")
    typer.echo(f'table: {path}; in a configuration:\n[search]\nlatency_table = "{path}"')


@app.command(name="list")
def list_parts() -> None:
    """Show what a configuration can name."""
    from regnas.baselines import BASELINES
    from regnas.config import is_update, load_table, presets
    from regnas.data import DATASETS
    from regnas.losses import FEATURE_LOSSES, LOSSES
    from regnas.methods import METHODS
    from regnas.networks import NETWORKS
    from regnas.search import ALGORITHMS, REWARDS
    from regnas.supernet import supernet_plugins

    table = Table(box=None, pad_edge=False)
    for column in ("kind", "name", "what it is"):
        table.add_column(column)
    searching = (supernet_plugins(), REWARDS, ALGORITHMS, BASELINES)
    updating = (METHODS, NETWORKS, LOSSES, FEATURE_LOSSES)
    for registry in (*searching, *updating, DATASETS):
        for name, part in registry.items():
            table.add_row(registry.kind, name, (part.__doc__ or "").splitlines()[0])
        table.add_section()
    for name in presets():
        command = "update" if is_update(load_table(name)[1]) else "run"
        table.add_row("preset", name, f"regnas {command} {name}")
    Console().print(table)


def _run(
    target: str,
    out: Path | None,
    sets: list[str] | None,
    resume: bool,
    overwrite: bool,
    inexact: bool,
    last: Any,
    executor: str | None = None,
    added_budgets: Sequence[str] = (),
) -> None:
    from regnas.config import load_config, parse_config
    from regnas.evaluation import ExecutorChoice
    from regnas.pipeline import run as run_pipeline
    from regnas.report import terminal_table

    choice = ExecutorChoice.parse(executor) if executor else None
    reuse = _reuse(resume, overwrite)
    config, path = _configuration(target, out, sets, load_config, parse_config)
    with _running(config, path, reuse, inexact, "report") as folder:
        comparison = run_pipeline(config, folder, last, choice, added_budgets)
    if comparison is not None:
        _print_wide(terminal_table(comparison))
        typer.echo(f"report: {folder.report / 'index.html'}")
    else:
        typer.echo(f"{last}: done, in {path}")


def _reuse(resume: bool, overwrite: bool) -> Any:
    if resume and overwrite:
        raise ConfigurationError("--resume and --overwrite exclude each other")
    return "overwrite" if overwrite else "resume" if resume else "refuse"


def _configuration(target: str, out: Path | None, sets: list[str] | None, load: Any, parse: Any) -> tuple[Any, Path]:
    """What to run and where, from a run folder or a configuration."""
    from regnas.run_folder import RUN, RunFolder

    if (Path(target) / RUN).exists():
        path = Path(target)
        facts = RunFolder.open(path).facts
        if sets:
            raise ConfigurationError(f"{path} has its configuration already: --set goes with a configuration")
        return parse(facts["name"], facts["configuration"]), path
    config = load(target, sets or ())
    return config, out or Path("runs") / config.name


@contextmanager
def _running(config: Any, path: Path, reuse: Any, inexact: bool, continued_by: str) -> Iterator[Any]:
    """The run folder, held, checked and logged to for the length of the block; a command continues it."""
    from regnas.run_folder import RunFolder
    from regnas.runtime.lock import exclusive
    from regnas.runtime.machine import choose_device, describe_machine
    from regnas.runtime.signals import postponed_signals

    machine = config.values.machine
    if machine.threads:
        import torch

        torch.set_num_threads(machine.threads)
    conditions = describe_machine(choose_device(machine.device))
    with exclusive(path), postponed_signals():
        folder = RunFolder.create(path, config.name, config.table, conditions, reuse)
        folder.check_machine(conditions, inexact)
        with _log_to(folder.log), _resumable(path, continued_by):
            yield folder


def _print_wide(table: Any) -> None:
    # Without a terminal rich would assume 80 columns and cut the names of the methods.
    Console(width=None if sys.stdout.isatty() else 140).print(table)


@contextmanager
def _log_to(path: Path) -> Iterator[None]:
    logger = logging.getLogger("regnas")
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    except BaseException as error:
        logger.error("stopped: %s", error)
        raise
    finally:
        logger.removeHandler(handler)
        handler.close()


@contextmanager
def _repeatable() -> Iterator[None]:
    """Say that the same command goes on, where it was interrupted."""
    try:
        yield
    except Interrupted:
        typer.echo("the same command continues it", err=True)
        raise


@contextmanager
def _resumable(path: Path, command: str) -> Iterator[None]:
    """Say how to go on, where it was interrupted."""
    try:
        yield
    except Interrupted:
        typer.echo(f"continue with: regnas {command} {shlex.quote(str(path))}", err=True)
        raise


def main() -> None:
    """The entry point: exit codes as errors.py defines them, a traceback only with --debug."""
    debug = "--debug" in sys.argv[1:]
    sys.exit(exit_code(sys.argv[1:], debug))


def exit_code(arguments: list[str], debug: bool = False) -> int:
    """Run the command and say on standard error what went wrong."""
    try:
        app(arguments)
        return 0
    except SystemExit as end:  # how typer ends, also after it has explained wrong usage
        return end.code if isinstance(end.code, int) else 0
    except RegnasError as error:
        if debug:
            raise
        for line in str(error).splitlines():
            typer.echo(f"regnas: {line}", err=True)
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
