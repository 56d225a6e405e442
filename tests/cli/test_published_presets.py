"""The presets for the published supernets, from a checkpoint of the published layout to the report.

With random weights, photographs made on the spot and small images: everything but the real files and their size.
"""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
import torch

from regnas.augmentations.horizontal_flip import HorizontalFlip
from regnas.augmentations.random_resized_crop import RandomResizedCrop
from regnas.runs.config import load_config
from regnas.runs.job import check_budgets
from regnas.space import Architecture, contains
from regnas.updates.config import load_update
from tests.data.photographs import make_photographs

pytestmark = pytest.mark.slow

CLASSES = 3


def mobilenet_v3():
    from ofa.imagenet_classification.elastic_nn.networks import OFAMobileNetV3

    return OFAMobileNetV3(n_classes=CLASSES, ks_list=[3, 5, 7], expand_ratio_list=[3, 4, 6], depth_list=[2, 3, 4])


def resnet50():
    from ofa.imagenet_classification.elastic_nn.networks import OFAResNets

    return OFAResNets(
        n_classes=CLASSES, depth_list=[0, 1, 2], expand_ratio_list=[0.2, 0.25, 0.35], width_mult_list=[0.65, 0.8, 1.0]
    )


PRESETS = {
    "ofa_mobilenet_v3": (mobilenet_v3, {"small": "5M", "medium": "8M", "large": "13M"}),
    "ofa_resnet50": (resnet50, {"a1": "41M", "a2": "61M", "a3": "82M", "a4": "102M"}),
}


# Small images have small resolutions, and the predictor's effort is for the real space.
SMALLER = {
    "ofa_mobilenet_v3": {
        "supernet.resolutions": "[24, 28, 32]",
        "search.algorithm.startup": 2,
        "search.algorithm.pool": 20,
        "search.algorithm.generations": 3,
    }
}


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_published_supernet_is_imported_searched_and_exported(preset, command, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    build, budgets = PRESETS[preset]
    torch.manual_seed(0)
    torch.save({"state_dict": build().state_dict()}, tmp_path / "published.pth")
    imported = command("import-ofa", tmp_path / "published.pth", "--supernet", preset, "--name", "tiny")
    assert imported.code == 0, imported.stderr
    settings = {
        "weights": "tiny",
        "data.path": make_photographs(tmp_path / "photographs", CLASSES, train=12, report=6),
        "data.size": 32,
        "data.search_images": 9,
        "search.candidates": 3,
        "search.calibration_images": 16,
        "search.algorithm.population": 2,
        **{f"budgets.{name}": f'"{budget} +- 4 %"' for name, budget in budgets.items()},
        **SMALLER.get(preset, {}),
    }
    sets = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    outcome = command("export", preset, "--out", tmp_path / "run", *sets)
    assert outcome.code == 0, outcome.stderr
    manifest = json.loads((tmp_path / "run" / "family" / "manifest.json").read_text())
    members = [Architecture.from_json(member["architecture"]) for member in manifest["members"]]
    assert [member["name"] for member in manifest["members"]] == list(budgets)
    assert all(contains(large, small) for small, large in pairwise(members))
    if preset in SMALLER:
        assert {member.resolution for member in members} <= {24, 28, 32}


def test_the_published_space_and_effort_are_those_of_once_for_all():
    config = load_config("ofa_mobilenet_v3").values
    assert config.supernet.resolutions == tuple(range(128, 225, 4))  # 25 sizes
    algorithm = config.search.algorithm
    assert algorithm.pool * algorithm.generations == 50_000
    assert (algorithm.mutation_probability, algorithm.resolution_probability) == (0.1, 0.5)
    space = config.supernet.space((3, 224, 224), 1000)
    # Of five stages with 2 to 4 blocks of 9 kinds each, at 25 resolutions: no network is above 600M.
    whole = 25 * (9**2 + 9**3 + 9**4) ** 5
    counts = check_budgets(config.budgets, space)
    assert counts["large"] == pytest.approx(whole, rel=1e-3)
    assert counts["small"] < counts["medium"] < counts["large"]


def test_the_update_of_imagenet_follows_the_recipe_of_the_papers():
    config = load_update("update_imagenet").values
    recipe = config.training
    rates = [recipe.learning_rate_at(epoch / recipe.epochs) for epoch in (0, 29, 30, 59, 60, 89)]
    assert rates == pytest.approx([0.1, 0.1, 0.01, 0.01, 0.001, 0.001])
    assert (recipe.epochs, recipe.batch_size, recipe.momentum, recipe.weight_decay) == (90, 256, 0.9, 1e-4)
    assert recipe.augmentations == (RandomResizedCrop(), HorizontalFlip())
    assert (config.data.transform, config.data.size) == ("imagenet", 224)
    assert (config.methods["elodi"].members, config.methods["elodi"].top_k) == (8, 10)
