"""`list`: what a configuration can name."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from regnas.cli.app import app


@app.command(name="list")
def list_parts() -> None:
    """Show what a configuration can name."""
    from regnas.data import DATASETS
    from regnas.losses import FEATURE_LOSSES, LOSSES
    from regnas.networks import NETWORKS
    from regnas.runs.baselines import BASELINES
    from regnas.runs.tables import is_update, load_table, presets
    from regnas.search import ALGORITHMS, REWARDS
    from regnas.supernet import supernet_plugins
    from regnas.training import SCHEDULES, SHRINKINGS, SUB_NETWORKS, TEACHERS
    from regnas.updates.methods import METHODS

    table = Table(box=None, pad_edge=False)
    for column in ("kind", "name", "what it is"):
        table.add_column(column)
    searching = (supernet_plugins(), REWARDS, ALGORITHMS, BASELINES)
    training = (SUB_NETWORKS, TEACHERS, SCHEDULES, SHRINKINGS)
    updating = (METHODS, NETWORKS, LOSSES, FEATURE_LOSSES)
    for registry in (*searching, *training, *updating, DATASETS):
        for name, part in registry.items():
            table.add_row(registry.kind, name, (part.__doc__ or "").splitlines()[0])
        table.add_section()
    for name in presets():
        command = "update" if is_update(load_table(name)[1]) else "run"
        table.add_row("preset", name, f"regnas {command} {name}")
    Console().print(table)
