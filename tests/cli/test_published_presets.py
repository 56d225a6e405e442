"""The presets for the published supernets, from a checkpoint of the published layout to the report.

With random weights, photographs made on the spot and small images: everything but the real files and their size.
"""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
import torch

from regnas.space import Architecture, contains
from tests.data.photographs import make_photographs

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
    }
    sets = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    outcome = command("run", preset, "--out", tmp_path / "run", *sets)
    assert outcome.code == 0, outcome.stderr
    manifest = json.loads((tmp_path / "run" / "family" / "manifest.json").read_text())
    members = [Architecture.from_json(member["architecture"]) for member in manifest["members"]]
    assert [member["name"] for member in manifest["members"]] == list(budgets)
    assert all(contains(large, small) for small, large in pairwise(members))
    assert (tmp_path / "run" / "report" / "index.html").exists()
