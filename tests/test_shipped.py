"""What is shipped beside the code is true: the presets. The documentation is checked in tests/docs."""

from __future__ import annotations

from pathlib import Path

import pytest

from regnas.runs.config import is_update, load_config, load_table, presets
from regnas.runs.job import check_budgets
from regnas.updates.config import load_update
from regnas.updates.study import describe_scenario, plan_all

ROOT = Path(__file__).parents[1]
SHAPES = {"digits": (1, 16, 16), "cifar10": (3, 32, 32)}


UPDATES = [name for name in presets() if is_update(load_table(name)[1])]


@pytest.mark.parametrize("name", [name for name in presets() if name not in UPDATES])
def test_every_preset_is_valid_and_its_budgets_hold_enough_candidates(name):
    config = load_config(name)
    space = config.values.supernet.space(SHAPES.get(name, (3, 224, 224)), 10)
    counts = check_budgets(config.values.budgets, space)
    assert min(counts.values()) > config.values.search.candidates


@pytest.mark.parametrize(
    ("name", "scenario"),
    [
        ("update_chain_digits", "other architecture, a chain of 3"),
        ("update_cifar10", "other architecture"),
        (
            "update_cifar10_data",
            "same architecture, more samples (50% → 100%), fine-tuned from the old weights",
        ),
        ("update_digits", "same architecture, more samples (50% → 100%)"),
        (
            "update_digits_data",
            "same architecture, more samples (50% → 100%), fine-tuned from the old weights",
        ),
        ("update_imagenet", "other architecture"),
    ],
)
def test_every_update_preset_is_the_scenario_that_it_says_and_all_its_methods_can_be_planned(name, scenario):
    config = load_update(name)
    chain = config.values.chain
    assert describe_scenario(chain) == scenario
    assert len(plan_all(config, chain)) >= len(config.values.methods)


def test_no_update_preset_is_left_out_above():
    assert len(UPDATES) == 6


def test_the_digits_update_compares_every_method_but_those_that_it_says():
    from regnas.updates.methods import METHODS

    preset = (ROOT / "search_configs" / "update_digits.toml").read_text()
    left_out = set(METHODS) - set(load_update("update_digits").values.methods)
    assert left_out == {"co_training", "mpt", "common_teacher", "twin_bootstrap"}
    assert all(name in preset for name in left_out)
