"""`run` and its stages, `update` and `validate`: what works on a configuration or a run folder."""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from regnas.cli.app import Executor, Inexact, Out, Overwrite, Resume, Sets, Target, Tune, app
from regnas.errors import ConfigurationError, Interrupted

if TYPE_CHECKING:
    from regnas.runs.job import PolishRequest


@app.command()
def run(
    config: Target,
    out: Out = None,
    sets: Sets = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    executor: Executor = None,
    tune: Tune = False,
    allow_inexact: Inexact = False,
) -> None:
    """From a data set to a family and its report: train, search, export, baselines, report."""
    _run(config, out, sets, resume, overwrite, allow_inexact, "report", executor, tune=tune)


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
def polish(
    target: Target,
    out: Out = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a key of [polish]: epochs=4.", metavar="KEY=VALUE"),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="The point on the line, from 0 (accuracy) to 1 (agreement); else the search split chooses."),
    ] = None,
    allow_inexact: Inexact = False,
) -> None:
    """Train the shared weights further for the members alone, and keep them where the search split says better."""
    from regnas.runs.job import PolishRequest

    last = "report" if (Path(target) / "report").exists() else "export"  # a report that is there is written anew
    _run(target, out, None, True, False, allow_inexact, last, polish=PolishRequest(sets or (), alpha))


@app.command()
def baselines(
    target: Target, out: Out = None, sets: Sets = None, tune: Tune = False, allow_inexact: Inexact = False
) -> None:
    """Train and search what one would have done instead."""
    _run(target, out, sets, True, False, allow_inexact, "baselines", tune=tune)


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
    by_epoch: Annotated[
        list[str] | None,
        typer.Option(help="Draw a method's flips against the epochs; all: of every one.", metavar="METHOD"),
    ] = None,
    tune: Tune = False,
    resume: Resume = False,
    overwrite: Overwrite = False,
    allow_inexact: Inexact = False,
) -> None:
    """Compare ways of replacing an old model by a new one: error rates and flips of every method in one table."""
    from regnas.report.update.tables import update_terminal_table
    from regnas.runs.folder import RUN
    from regnas.updates.config import load_update, parse_update
    from regnas.updates.epochs import check_asked_by_epoch
    from regnas.updates.study import run_update
    from regnas.updates.sweeps import Sweep

    sweeps = [Sweep.parse(text) for text in sweep or ()]
    reuse = _reuse(resume, overwrite)
    if (Path(config) / RUN).exists() and reuse == "refuse":
        reuse = "resume"
    loaded, path = configuration(config, out, sets, load_update, parse_update)
    for each in sweeps:  # before anything is written
        each.variants(loaded.values.methods)
    check_asked_by_epoch(by_epoch or (), loaded.values)
    with running(loaded, path, reuse, allow_inexact, "update") as folder:
        results = run_update(loaded, folder, sweep or (), by_epoch or (), tune)
    print_wide(update_terminal_table(results))
    typer.echo(f"report: {folder.report / 'index.html'}")


@app.command()
def validate(config: Target, sets: Sets = None) -> None:
    """Check a configuration without training; print the attainable range of the budgets, or the update's methods."""
    from regnas.runs.config import is_update, load_table, parse_config, timed
    from regnas.runs.job import check_budgets, imported_weights
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
    from regnas.updates.config import parse_update
    from regnas.updates.study import check_update

    loaded = parse_update(name, content)
    scenario, trainings = check_update(loaded)
    typer.echo(f"scenario: {scenario}")
    methods, seeds = len(loaded.values.methods), len(loaded.values.seeds)
    typer.echo(f"{methods} methods, {trainings} trainings for each of {seeds} seeds")
    typer.echo(f"{name} is valid")


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
    polish: PolishRequest | None = None,
    tune: bool = False,
) -> None:
    from regnas.report.family.tables import terminal_table
    from regnas.runs.config import load_config, parse_config
    from regnas.runs.pipeline import run as run_pipeline
    from regnas.runtime.processes import current_processes, joined
    from regnas.search.evaluation import ExecutorChoice

    processes = current_processes()
    with joined(processes):
        with processes.together():
            choice = ExecutorChoice.parse(executor) if executor else None
            reuse = _reuse(resume, overwrite)
            config, path = configuration(target, out, sets, load_config, parse_config)
        with running(config, path, reuse, inexact, "report", processes) as folder:
            comparison = run_pipeline(config, folder, last, choice, added_budgets, polish, processes, tune)
    if not processes.is_main:
        return
    if comparison is not None:
        print_wide(terminal_table(comparison))
        typer.echo(f"report: {folder.report / 'index.html'}")
    else:
        typer.echo(f"{last}: done, in {path}")


def _reuse(resume: bool, overwrite: bool) -> Any:
    if resume and overwrite:
        raise ConfigurationError("--resume and --overwrite exclude each other")
    return "overwrite" if overwrite else "resume" if resume else "refuse"


def configuration(target: str, out: Path | None, sets: list[str] | None, load: Any, parse: Any) -> tuple[Any, Path]:
    """What to run and where, from a run folder or a configuration."""
    from regnas.runs.folder import RUN, RunFolder

    if (Path(target) / RUN).exists():
        path = Path(target)
        facts = RunFolder.open(path).facts
        if sets:
            raise ConfigurationError(f"{path} has its configuration already: --set goes with a configuration")
        return parse(facts["name"], facts["configuration"]), path
    config = load(target, sets or ())
    return config, out or Path("runs") / config.name


@contextmanager
def running(
    config: Any, path: Path, reuse: Any, inexact: bool, continued_by: str, processes: Any = None
) -> Iterator[Any]:
    """The run folder, held, checked and logged to for the length of the block; a command continues it.

    Of several processes the leader does all that; the others read.
    """
    from regnas.runs.folder import RunFolder
    from regnas.runtime.lock import exclusive
    from regnas.runtime.machine import describe_machine
    from regnas.runtime.processes import SINGLE
    from regnas.runtime.signals import postponed_signals

    processes = processes or SINGLE
    machine = config.values.machine
    if machine.threads:
        import torch

        torch.set_num_threads(machine.threads)
    with ExitStack() as stack:
        with processes.together():
            conditions = {**describe_machine(processes.device(machine.device)), "processes": processes.count}
            if processes.is_main:
                stack.enter_context(exclusive(path))
            stack.enter_context(postponed_signals())
            if processes.is_main:
                folder = RunFolder.create(path, config.name, config.table, conditions, reuse)
                folder.check_machine(conditions, inexact)
                stack.enter_context(_log_to(folder.log))
                stack.enter_context(_resumable(folder, continued_by, processes))
        with processes.together():
            if not processes.is_main:
                folder = RunFolder.open(path, reads_only=True)
        yield folder


def print_wide(table: Any) -> None:
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
def _resumable(folder: Any, command: str, processes: Any) -> Iterator[None]:
    """Say how to go on, where it was interrupted."""
    try:
        yield
    except Interrupted:
        path = shlex.quote(str(folder.path))
        if processes.is_single or folder.supernet_trained:
            typer.echo(f"continue with: regnas {command} {path}", err=True)
        else:
            typer.echo("continue with: the same torchrun command and --resume", err=True)
        raise
