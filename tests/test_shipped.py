"""What is shipped beside the code is true: the presets. The documentation is checked in tests/docs."""

from __future__ import annotations

from pathlib import Path

import pytest

from regnas.runs.config import load_config
from regnas.runs.job import check_budgets
from regnas.runs.tables import is_update, load_table, presets
from regnas.updates.config import load_update
from regnas.updates.planning import describe_scenario, plan_all

ROOT = Path(__file__).parents[1]
SHAPES = {"digits": (1, 16, 16), "cifar10": (3, 32, 32)}


UPDATES = [name for name in presets() if is_update(load_table(name)[1])]


@pytest.mark.parametrize("name", [name for name in presets() if name not in UPDATES])
def test_every_preset_is_valid_and_its_budgets_hold_enough_candidates(name):
    config = load_config(name)
    space = config.values.supernet.space(SHAPES.get(name, (3, 224, 224)), 10)
    counts = check_budgets(config.values.budgets, space)
    assert min(counts.values()) > config.values.search.candidates


SCENARIOS = {
    "update_chain_digits": "other architecture, a chain of 3",
    "update_cifar10": "other architecture",
    "update_cifar10_data": "same architecture, more samples (50% → 100%), fine-tuned from the old weights",
    "update_digits": "same architecture, more samples (50% → 100%)",
    "update_digits_data": "same architecture, more samples (50% → 100%), fine-tuned from the old weights",
    "update_imagenet": "other architecture",
}


@pytest.mark.parametrize("name", UPDATES)
def test_every_update_preset_is_the_scenario_that_it_says_and_all_its_methods_can_be_planned(name):
    config = load_update(name)
    chain = config.values.chain
    assert describe_scenario(chain) == SCENARIOS[name]
    planned = [variant.label for variant in plan_all(config, chain)]
    for method in config.values.methods:  # in a chain, a row for each kind of references: "elodi-chain"
        assert any(label == method or label.startswith(f"{method}-") for label in planned), method


def test_the_digits_update_compares_every_method_but_those_that_it_says():
    from regnas.updates.methods import METHODS

    preset = (ROOT / "search_configs" / "update_digits.toml").read_text()
    left_out = set(METHODS) - set(load_update("update_digits").values.methods)
    assert left_out == {"co_training", "mpt", "common_teacher", "twin_bootstrap"}
    assert all(name in preset for name in left_out)
