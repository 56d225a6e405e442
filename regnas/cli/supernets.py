"""`import-ofa` and `latency-table`: supernets of other projects, and latencies on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from regnas.cli.app import Sets, app
from regnas.cli.output import say
from regnas.errors import Interrupted


@app.command(name="import-ofa")
def import_ofa(
    source: Annotated[
        str, typer.Argument(help="The name of a published supernet, or your own checkpoint.", metavar="SUPERNET")
    ],
    file: Annotated[
        Path | None, typer.Option(help="The file of the published supernet, if you have it.", metavar="PATH")
    ] = None,
    supernet: Annotated[
        str, typer.Option(help="The supernet of your checkpoint. Default: the one that fits.", metavar="NAME")
    ] = "",
    name: Annotated[
        str, typer.Option(help="The name of your checkpoint. Default: the name of its file.", metavar="NAME")
    ] = "",
    folder: Annotated[
        Path | None,
        typer.Option(
            "--to", help="The folder for the weights. Default: a folder in ~/.cache/regnas.", metavar="FOLDER"
        ),
    ] = None,
) -> None:
    """Convert a supernet that others trained; a configuration can then start from it."""
    from regnas.runs.tables import describe
    from regnas.supernet.imports import default_store, import_supernet

    imported, fresh = import_supernet(source, folder or default_store(), file, supernet, name)
    table = describe({"supernet": imported.supernet}, "supernet")
    say(f"{imported.name} is {'imported' if fresh else 'already imported'}: {table}, {imported.classes:,} classes")
    say(f"{imported.path}, sha256 {imported.sha256}")
    say(f'start from it with: weights = "{imported.path if folder else imported.name}"')


@app.command(name="latency-table")
def latency_table(
    config: Annotated[str, typer.Argument(help="A configuration file, or the name of a preset.", metavar="CONFIG")],
    out: Annotated[
        Path | None,
        typer.Option(help="The table. Default: search.latency_table, or NAME-latency.json.", metavar="PATH"),
    ] = None,
    set: Sets = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Images per forward pass.", metavar="N")] = 1,
    threads: Annotated[int | None, typer.Option(help="CPU threads. Default: machine.threads.", metavar="N")] = None,
    device: Annotated[
        str | None, typer.Option(help="auto, cpu, cuda or mps. Default: machine.device.", metavar="DEVICE")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Measure a complete table again.")] = False,
) -> None:
    """Measure the latencies of the networks of a supernet on this machine, for budgets in milliseconds."""
    import torch

    from regnas.runs.config import load_config
    from regnas.runtime.machine import choose_device, describe_machine
    from regnas.runtime.signals import postponed_signals
    from regnas.search.evaluation import find_table, measure_latencies
    from regnas.space import Conditions, latency_range, with_latencies
    from regnas.supernet import space_of

    wishes = {"machine.threads": threads, "machine.device": device}
    loaded = load_config(
        config, [*(set or ()), *(f"{key}={value}" for key, value in wishes.items() if value is not None)]
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
    table = find_table(path, space, conditions, overwrite)
    if table is not None:
        say(f"{path} is complete; --overwrite measures it again")
    else:
        with postponed_signals(), _repeatable():
            table = measure_latencies(values.supernet, space, conditions, place, path)
    low, high = latency_range(with_latencies(space, table))
    say(f"attainable: {low:.3g} to {high:.3g} ms ({conditions})")
    say(f"check: {table.additivity}")
    say(f'table: {path}; in a configuration:\n[search]\nlatency_table = "{path}"')


@contextmanager
def _repeatable() -> Iterator[None]:
    """Print after an interruption that the same command continues."""
    try:
        yield
    except Interrupted:
        say("continue with: the same command", error=True)
        raise
