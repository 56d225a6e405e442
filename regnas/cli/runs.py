"""`run` and its stages, `update` and `validate`: commands on a configuration or a run folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regnas.cli.app import Executor, Inexact, Out, Overwrite, Resume, Sets, Target, Tune, app
from regnas.cli.output import print_table, say
from regnas.errors import EnvironmentProblem, Interrupted

if TYPE_CHECKING:
    from regnas.components.paths import Anchors
    from regnas.runs.api import Run

AddBudget = Annotated[
    list[str] | None,
    typer.Option(
        "--add-budget", help="Add a member between the others: 450M, tablet=450M. Repeatable.", metavar="[NAME=]BUDGET"
    ),
]
PolishSets = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a key of [polish], for example epochs=4. Repeatable.", metavar="KEY=VALUE"),
]


@app.command()
def run(
    config: Target,
    out: Out = None,
    set: Sets = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    executor: Executor = None,
    tune: Tune = False,
    allow_inexact: Inexact = False,
) -> None:
    """Build a family from a data set: train, search, polish, export, train the baselines, write the report."""
    from regnas.runs import api

    with continued_by("run", "--resume", *_options(executor=executor, tune=tune, allow_inexact=allow_inexact)):
        found = api.run(
            config,
            out=out,
            set=set or (),
            resume=resume,
            overwrite=overwrite,
            executor=executor,
            tune=tune,
            allow_inexact=allow_inexact,
        )
        _print_report(found)


@app.command()
def train(
    config: Target,
    out: Out = None,
    set: Sets = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    allow_inexact: Inexact = False,
) -> None:
    """Train the supernet."""
    from regnas.runs import api

    with continued_by("train", "--resume", *_options(allow_inexact=allow_inexact)):
        found = api.run(
            config,
            out=out,
            set=set or (),
            resume=resume,
            overwrite=overwrite,
            allow_inexact=allow_inexact,
            until="train",
        )
        _print_done("train", found)


@app.command()
def search(
    target: Target,
    out: Out = None,
    set: Sets = None,
    executor: Executor = None,
    add_budgets: AddBudget = None,
    allow_inexact: Inexact = False,
) -> None:
    """Search the supernet for the family; train the supernet first if it is not trained yet.

    --add-budget adds a member to the family and writes an existing report again. The other members stay as they are.
    """
    from regnas.runs import api

    options = _options(executor=executor, add_budget=add_budgets, allow_inexact=allow_inexact)
    with continued_by("search", *options):
        found = api.run(
            target,
            out=out,
            set=set or (),
            resume=True,
            executor=executor,
            add_budgets=add_budgets or (),
            allow_inexact=allow_inexact,
            until="search",
        )
        if add_budgets:
            _print_family(found)
        else:
            _print_done("search", found)


@app.command()
def polish(
    target: Target,
    out: Out = None,
    set: PolishSets = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="The point on the line from 0 (accuracy) to 1 (agreement). Default: chosen on the search split.",
            metavar="NUMBER",
        ),
    ] = None,
    allow_inexact: Inexact = False,
) -> None:
    """Train the shared weights further for the members only; keep them unless they are significantly worse."""
    from regnas.runs import api

    with continued_by("polish", *_options(set=set, alpha=alpha, allow_inexact=allow_inexact)):
        found = api.polish(target, out=out, set=set or (), alpha=alpha, allow_inexact=allow_inexact)
        _print_family(found)


@app.command()
def baselines(
    target: Target, out: Out = None, set: Sets = None, tune: Tune = False, allow_inexact: Inexact = False
) -> None:
    """Train the baselines: the networks that you would use without a family."""
    from regnas.runs import api

    with continued_by("baselines", *_options(tune=tune, allow_inexact=allow_inexact)):
        found = api.run(
            target,
            out=out,
            set=set or (),
            resume=True,
            tune=tune,
            allow_inexact=allow_inexact,
            until="baselines",
        )
        _print_done("baselines", found)


@app.command()
def report(target: Target, out: Out = None, set: Sets = None, allow_inexact: Inexact = False) -> None:
    """Run the stages that are still missing, and write the report."""
    from regnas.runs import api

    with continued_by("report", *_options(allow_inexact=allow_inexact)):
        found = api.run(target, out=out, set=set or (), resume=True, allow_inexact=allow_inexact)
        _print_report(found)


@app.command()
def update(
    config: Target,
    out: Out = None,
    set: Sets = None,
    sweeps: Annotated[
        list[str] | None,
        typer.Option(
            "--sweep",
            help="Draw the trade-off over METHOD.KEY=START:STOP:STEP, for example bcwi.alpha=0:1:0.1. Repeatable.",
            metavar="RANGE",
        ),
    ] = None,
    by_epoch: Annotated[
        list[str] | None,
        typer.Option(help="Draw the flips of METHOD by epoch; all draws every method. Repeatable.", metavar="METHOD"),
    ] = None,
    tune: Tune = False,
    resume: Resume = False,
    overwrite: Overwrite = False,
    allow_inexact: Inexact = False,
) -> None:
    """Compare methods of replacing an old model by a new one: error rates and flips in one table."""
    from regnas.report.update.tables import update_terminal_table
    from regnas.updates import api

    options = _options(sweep=sweeps, by_epoch=by_epoch, tune=tune, allow_inexact=allow_inexact)
    with continued_by("update", *options):
        found = api.update(
            config,
            out=out,
            set=set or (),
            sweeps=sweeps or (),
            by_epoch=by_epoch or (),
            tune=tune,
            resume=resume,
            overwrite=overwrite,
            allow_inexact=allow_inexact,
        )
        print_table(update_terminal_table(found.results))
        say(f"report: {found.report}")
        if found.models:
            names = ", ".join(found.models)
            example = f"regnas predict {found.path}:{found.models[-1]} DATA --out FILE"
            say(f"models: {names}; use one with: {example}")


@app.command()
def validate(config: Target, set: Sets = None) -> None:
    """Check a configuration without training; print the attainable budgets, or the methods of an update."""
    from regnas.runs.config import parse_config, timed
    from regnas.runs.job import check_budgets, check_curriculum, check_networks, imported_weights
    from regnas.runs.recipe_checks import check_recipe
    from regnas.runs.tables import is_update, load_table
    from regnas.space import format_macs, latency_range
    from regnas.supernet import space_of

    name, content, anchors = load_table(config, set or ())
    if is_update(content):
        _validate_update(name, content, anchors)
        return
    loaded = parse_config(name, content, anchors)
    splits = loaded.values.data.load()
    imported_weights(loaded, splits)  # refuses weights of another supernet
    space = space_of(loaded.values.supernet, splits.input_shape, len(splits.classes))
    space = timed(space, loaded.values.search, loaded.values.budgets, splits.input_shape, len(splits.classes))
    check_curriculum(loaded.values, space)
    check_recipe(loaded.values, splits, space, loaded.values.polish)
    check_networks(loaded.values, space, splits)
    low, high = space.macs_range
    say(f"attainable: {format_macs(low)} to {format_macs(high)} MACs ({low:,} to {high:,})")
    if loaded.values.search.latency_table:
        quickest, slowest = latency_range(space)
        say(f"attainable: {quickest:.3g} to {slowest:.3g} ms, by {loaded.values.search.latency_table}")
    for name, count in check_budgets(loaded.values.budgets, space).items():
        say(f"budgets.{name}: {loaded.values.budgets[name]}, about {count:,.0f} architectures")
    say(f"{loaded.name} is valid")


def _validate_update(name: str, content: dict[str, Any], anchors: Anchors) -> None:
    from regnas.updates.config import parse_update
    from regnas.updates.study import check_update

    loaded = parse_update(name, content, anchors)
    scenario, trainings = check_update(loaded)
    say(f"scenario: {scenario}")
    methods, seeds = len(loaded.values.methods), len(loaded.values.seeds)
    say(f"{methods} methods, {trainings} trainings for each of {seeds} seeds")
    say(f"{name} is valid")


@contextmanager
def continued_by(command: str, *options: str) -> Iterator[None]:
    """Postpone signals to safe places; if the run stops and can be continued, print the command that continues it.

    The block prints the output of the command, so a signal after the last safe place has no effect.
    """
    from regnas.runs.folder import RunFolder
    from regnas.runtime.processes import current_processes
    from regnas.runtime.signals import postponed_signals

    processes = current_processes()
    try:
        with postponed_signals():
            yield
    except (Interrupted, EnvironmentProblem) as error:
        if error.run is not None and processes.is_main:
            if processes.is_single or RunFolder.open(error.run).supernet_trained:
                line = shlex.join(["regnas", command, str(error.run), *options])
                say(f"continue with: {line}", error=True)
            else:
                say("continue with: the same torchrun command and --resume", error=True)
        raise


def _options(**given: str | float | bool | Sequence[str] | None) -> list[str]:
    """Return options as on the command line, for the command that continues this one."""
    words: list[str] = []
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            words += [word for entry in value for word in (flag, entry)]
        elif value is not None and value is not False:
            words += [flag, str(value)]
    return words


def _print_family(run: Run) -> None:
    """Print the table of the report, or that of the members if the report is missing or lacks some of them."""
    from regnas.family.export import family_table

    if not _is_main() or run.report_is_current:
        _print_report(run)
        return
    print_table(family_table(run.family.manifest))
    _print_polishing(run)
    if run.report.exists():
        lacking = [name for name in run.family if name not in run.flips.members]
        say(f"the report lacks {', '.join(lacking)}. Write it with: {shlex.join(['regnas', 'report', str(run.path)])}")
    _print_done("export", run)


def _print_report(run: Run) -> None:
    from regnas.report.family.tables import terminal_table

    if _is_main():
        print_table(terminal_table(run.flips))
        _print_polishing(run)
        say(f"report: {run.report}")


def _print_polishing(run: Run) -> None:
    decision = run.polishing
    for line in () if decision is None else decision.lines():
        say(line)


def _print_done(stage: str, run: Run) -> None:
    if _is_main():
        say(f"{stage}: done, in {run.path}")


def _is_main() -> bool:
    from regnas.runtime.processes import current_processes

    return current_processes().is_main
