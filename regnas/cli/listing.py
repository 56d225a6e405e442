"""`list`: the components that a configuration can name.

The parts of regnas are read from ``parts.json``, because importing them takes seconds. ``write_parts`` writes the file,
and a test compares it with the registries. Parts of other packages are found by their entry points.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regnas.cli.app import app
from regnas.cli.output import print_table
from regnas.components.registry import Registry, nearest
from regnas.errors import ConfigurationError
from regnas.runs.tables import is_update, load_table, presets

PARTS = "parts.json"

Parts = dict[str, dict[str, str]]  # the description of a part, by kind and name

# The entry point group of each kind; a test compares them with the registries.
GROUPS = {
    "supernet": "regnas.supernets",
    "reward": "regnas.rewards",
    "algorithm": "regnas.algorithms",
    "sub-networks": "regnas.sub_networks",
    "teacher": "regnas.teachers",
    "schedule": "regnas.schedules",
    "shrinking": "regnas.shrinkings",
    "optimizer": "regnas.optimizers",
    "learning-rate schedule": "regnas.learning_rate_schedules",
    "averaging": "regnas.averagings",
    "initialization": "regnas.initializations",
    "method": "regnas.methods",
    "network": "regnas.networks",
    "loss": "regnas.losses",
    "feature loss": "regnas.feature_losses",
    "augmentation": "regnas.augmentations",
    "data set": "regnas.data",
    "logger": "regnas.loggers",
}


@app.command(name="list")
def list_parts(
    wanted: Annotated[
        str | None,
        typer.Argument(help="Show only one kind, such as losses, or names that contain this text.", metavar="WHICH"),
    ] = None,
) -> None:
    """Show what a configuration can name: losses, methods, data sets, supernets, presets and more."""
    table = Table(box=None, pad_edge=False)
    for column in ("kind", "name", "what it is"):
        table.add_column(column)
    for kind, parts in _choose(_all_parts(), wanted).items():
        for name, description in parts.items():
            table.add_row(*map(Text, (kind, name, description)))
        table.add_section()
    print_table(table, Console())


def all_registries() -> tuple[Registry[Any], ...]:
    """Import and return the registries."""
    from regnas.data import DATASETS
    from regnas.losses import FEATURE_LOSSES, LOSSES
    from regnas.networks import NETWORKS
    from regnas.runs.baselines import BASELINES
    from regnas.search import ALGORITHMS, REWARDS
    from regnas.supernet import SUPERNETS
    from regnas.training import RECIPE_PARTS, SCHEDULES, SHRINKINGS, SUB_NETWORKS, TEACHERS
    from regnas.training.loggers import LOGGERS
    from regnas.updates.methods import METHODS

    searching = (SUPERNETS, REWARDS, ALGORITHMS, BASELINES)
    training: tuple[Registry[Any], ...] = (SUB_NETWORKS, TEACHERS, SCHEDULES, SHRINKINGS, *RECIPE_PARTS.values())
    updating = (METHODS, NETWORKS, LOSSES, FEATURE_LOSSES)
    return (*searching, *training, *updating, DATASETS, LOGGERS)


def registered_parts() -> Parts:
    """Return the descriptions of all parts, from the registries."""
    return {registry.kind: registry.summaries() for registry in all_registries()}


def write_parts() -> None:
    """Write ``parts.json``: ``python -c "from regnas.cli.listing import write_parts; write_parts()"``."""
    text = json.dumps(registered_parts(), indent=2, ensure_ascii=False) + "\n"
    (Path(__file__).parent / PARTS).write_text(text, encoding="utf-8")


def shipped_parts() -> Parts:
    """Return the descriptions in ``parts.json``."""
    parts: Parts = json.loads((resources.files("regnas.cli") / PARTS).read_text(encoding="utf-8"))
    return parts


def _all_parts() -> Parts:
    parts = shipped_parts()
    for kind, group in GROUPS.items():
        packaged: Registry[Any] = Registry(kind, group, {}, check=lambda part: None)
        new = [name for name in packaged if name not in parts[kind]]
        parts[kind] |= {name: packaged.summary(name) for name in new}
    commands = {name: "update" if is_update(load_table(name)[1]) else "run" for name in presets()}
    return parts | {"preset": {name: f"regnas {command} {name}" for name, command in commands.items()}}


def _choose(parts: Parts, wanted: str | None) -> Parts:
    if wanted is None:
        return parts
    kinds = {plural: kind for kind in parts for plural in (kind, f"{kind}s", f"{kind}es")}
    asked = wanted.lower().replace("-", " ").replace("_", " ")
    if asked in kinds:
        return {kinds[asked]: parts[kinds[asked]]}
    found = {
        kind: {name: text for name, text in entries.items() if wanted.lower() in name.lower()}
        for kind, entries in parts.items()
    }
    found = {kind: entries for kind, entries in found.items() if entries}
    if not found:
        hint = nearest(asked, list(kinds))
        raise ConfigurationError(
            f'list must name a kind ({", ".join(parts)}) or a part of a name, got "{wanted}"{hint}'
        )
    return found
