"""The reference pages name every part with every key, and nothing that does not exist."""

from __future__ import annotations

import re
import tomllib
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

import pytest

from regnas.augmentations import AUGMENTATIONS
from regnas.data import DATASETS
from regnas.family.polishing import Polishing
from regnas.losses import FEATURE_LOSSES, LOSSES
from regnas.networks import NETWORKS
from regnas.runs.baselines import BASELINES
from regnas.runs.config import Config, Machine, SearchSettings
from regnas.runs.tables import presets
from regnas.search import ALGORITHMS, REWARDS
from regnas.supernet import SUPERNETS
from regnas.training import RECIPE_PARTS, SCHEDULES, SHRINKINGS, SUB_NETWORKS, TEACHERS, Curriculum, Recipe
from regnas.training.loggers import LOGGERS
from regnas.updates.config import UpdateConfig
from regnas.updates.methods import METHODS
from regnas.updates.methods.chain import Release
from regnas.updates.methods.tunable import grids_of
from tests.docs.markdown import ROOT, prose_of, rows_of, sections_of

CONFIGURATION = sections_of(ROOT / "docs" / "configuration.md")
REGISTRIES: list[Mapping[str, Any]] = [
    *(BASELINES, METHODS, DATASETS, NETWORKS, LOSSES, FEATURE_LOSSES, REWARDS, ALGORITHMS),
    *(SUB_NETWORKS, TEACHERS, SCHEDULES, SHRINKINGS, SUPERNETS, *RECIPE_PARTS.values()),
]
TABLES = {
    "`regnas run`": Config,
    "`regnas update`": UpdateConfig,
    "`[models.NAME]`": Release,
    "`[training]` and `[fine_tuning]`": Recipe,
    "`[curriculum]`": Curriculum,
    "`[polish]`": Polishing,
    "`[search]`": SearchSettings,
    "`[machine]`": Machine,
}
COMPONENTS: dict[str, Mapping[str, Any]] = {
    "`[data]`": DATASETS,
    "`[supernet]`": SUPERNETS,
    "Augmentations of training images": AUGMENTATIONS,
    "Networks of an update": NETWORKS,
    "Methods and baselines": {**BASELINES, **METHODS},
    "Losses of a lesson": LOSSES,
    "`[search]`": {**REWARDS, **ALGORITHMS},
    "`[training]` and `[fine_tuning]`": dict(
        ChainMap(*(parts for parts in RECIPE_PARTS.values() if parts is not AUGMENTATIONS))
    ),
    "`[[loggers]]`": LOGGERS,
    "`[curriculum]`": {**SUB_NETWORKS, **TEACHERS, **SCHEDULES, **SHRINKINGS},
}
# A key, a mark if it can be "auto", and its default: `weight`* (1.0)
KEY = re.compile(r"`\[*([a-z_0-9]+)(?:\.NAME)?\]*`(\*?)(?: \((`[^`]*`|[^)]*)\))?")


def split_components(section: str) -> tuple[list[list[str]], list[list[str]]]:
    """Separate the rows of tables of components, which begin with a component's name, from those of keys."""
    known = COMPONENTS.get(section, {})
    tables = re.split(r"\n\n", CONFIGURATION[section])
    keys = [row for text in tables if "| key |" in text for row in rows_of(text)]
    parts = [row for text in tables if known and "| component |" in text for row in rows_of(text)]
    return keys, parts


def default_of(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else MISSING


def value_of(shown: str) -> Any:
    """Read the value that a default begins with; None if words say what it is."""
    text = shown.strip("`").split(",")[0] if not shown.startswith("`[") else shown.strip("`")
    try:
        return tomllib.loads(f"value = {text.strip('`')}")["value"]
    except tomllib.TOMLDecodeError:
        return None


def check_keys(shown: list[tuple[str, str, str]], component: Any, place: str) -> None:
    expected = {field.name: field for field in fields(component)}
    assert {key for key, _, _ in shown} == set(expected), place
    for key, mark, default in shown:
        field = expected[key]
        assert (mark == "*") == (key in grids_of(component)), f"{place}: {key}"
        if default_of(field) is MISSING:
            continue
        value = value_of(default)
        if value is not None and default:
            real = default_of(field)
            assert value == (list(real) if isinstance(real, tuple) else real), f"{place}: {key}"


def names(cell: str) -> Iterator[str]:
    yield from re.findall(r"`([a-zA-Z_0-9]+)`", cell)


@pytest.mark.parametrize("section", TABLES)
def test_every_key_of_a_table_is_documented_with_its_default(section):
    rows, _ = split_components(section)
    check_keys([key for row in rows for key in KEY.findall(row[0])], TABLES[section], section)


@pytest.mark.parametrize("section", COMPONENTS)
def test_every_component_is_documented_with_its_keys(section):
    _, rows = split_components(section)
    seen = set()
    for cell, keys in rows:
        for name in names(cell):
            seen.add(name)
            check_keys(KEY.findall(keys.split(": ")[0]), COMPONENTS[section][name], f"{section}: {name}")
    assert seen == set(COMPONENTS[section])


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_the_page_of_methods_names_every_part(registry):
    page = prose_of(ROOT / "docs" / "methods.md")
    assert not [name for name in registry if f"`{name}`" not in page]


def test_the_pages_name_every_preset():
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md")))
    assert not [name for name in presets() if name not in text]


def test_the_glossary_has_every_term_once_in_order():
    terms = [row[0].strip("*").lower() for row in rows_of(prose_of(ROOT / "docs" / "glossary.md"))]
    assert terms == sorted(set(terms))
    assert {"negative flip", "nfr", "reference model", "member", "family", "supernet", "sub-network"} <= set(terms)
