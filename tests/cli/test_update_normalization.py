"""Models that were trained with other statistics than those of the data get images normalized as in their training."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from regnas.data import Preprocessing
from regnas.family.family import load_family
from regnas.flips import load_predictions
from regnas.networks import Normalized, SmallResNet
from regnas.runtime.files import sha256_of
from regnas.updates.models import Checkpoint
from tests.cli.test_update_scenarios import network_like, scenario
from tests.cli.update_runs import arrays_of, change
from tests.updates.models.making import SMALL, open_store

MEAN, STD = 0.9, 0.05  # far from those of the data
OWN = f"normalization = {{ mean = [{MEAN}], std = [{STD}] }}"
WITHOUT_OLD_WEIGHTS = ("[methods.bcwi]\n", "")


def answers(network, images, mean=MEAN, std=STD):
    """What plain torch computes from stored bytes [N, H, W]."""
    with torch.no_grad():
        return network.eval()((torch.from_numpy(images)[:, None].float() / 255 - mean) / std)


def test_a_network_uses_its_own_statistics_and_not_those_of_the_data(tmp_path):
    store = open_store(tmp_path / "models")
    network = network_like(classes=4)
    save_file(network.state_dict(), tmp_path / "old.safetensors")
    sha256 = sha256_of(tmp_path / "old.safetensors")
    images = store.splits.report.images[:, 0].numpy()
    own = Checkpoint(Normalized(SMALL, Preprocessing((MEAN,), (STD,))), str(tmp_path / "old.safetensors"), sha256)
    plain = Checkpoint(SMALL, own.path, sha256)
    expected = answers(network, images)
    torch.testing.assert_close(store.logits(own, store.splits.report), expected, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(store.logits(plain, store.splits.report), expected, atol=0.1)
    assert store.identity(own) != store.identity(plain)
    assert all(torch.equal(store.module(own).state_dict()[name], each) for name, each in network.state_dict().items())


@pytest.mark.slow
def test_an_old_model_uses_its_statistics_and_the_new_ones_use_those_of_the_data(command, tmp_path):
    network, path = network_like(), tmp_path / "old.safetensors"
    save_file(network.state_dict(), path)
    old = ("samples = 0.5", f'samples = 0.5\ncheckpoint = "{path}"\n{OWN}')
    run = scenario(command, tmp_path, old, WITHOUT_OLD_WEIGHTS)
    images = np.load(tmp_path / "data.npz")["test_images"]
    data = json.loads((run / "run.json").read_text())["data"]["preprocessing"]
    right = answers(network, images).argmax(1)
    assert (right != answers(network, images, data["mean"][0], data["std"][0]).argmax(1)).any()
    for label in ("none", "elodi", "ensemble"):
        np.testing.assert_array_equal(arrays_of(run, label, "old")["predicted"], right)
    assert load_family(run).manifest.preprocessing == data
    assert "normalization {'mean': [0.9], 'std': [0.05]}" in (run / "report" / "index.html").read_text().replace(
        "&#39;", "'"
    )


@pytest.mark.slow
def test_a_new_model_with_statistics_is_exported_predicted_with_and_verified_by_them(command, tmp_path):
    path = tmp_path / "old.safetensors"
    save_file(network_like().state_dict(), path)
    new = ("widths = [4, 8] }\n\n[training]", f"widths = [4, 8] }}\n{OWN}\n\n[training]")
    run = scenario(command, tmp_path, ("samples = 0.5", f'samples = 0.5\ncheckpoint = "{path}"\n{OWN}'), new)
    images = np.load(tmp_path / "data.npz")["test_images"]
    assert load_family(run).manifest.preprocessing == {"mean": [MEAN], "std": [STD]}
    for label in ("none", "bcwi", "fine_tuning"):
        network = SmallResNet(widths=(4, 8)).build((1, 8, 8), 3)
        network.load_state_dict(load_file(run / "models" / f"{label}-seed-0.safetensors"))
        recorded = arrays_of(run, label, "new")
        torch.testing.assert_close(torch.from_numpy(recorded["logits"]), answers(network, images), rtol=1e-3, atol=1e-3)
        assert load_family(run).predict(images, label).numbers.tolist() == recorded["predicted"].tolist()
    outcome = command("predict", f"{run}:bcwi", run, "--out", tmp_path / "bcwi.npz", "--device", "cpu")
    assert outcome.code == 0, outcome.stderr
    assert (load_predictions(tmp_path / "bcwi.npz").predicted == arrays_of(run, "bcwi", "new")["predicted"]).all()
    exported = command("export", run, "--format", "onnx")
    assert exported.code == 0, exported.stderr
    assert command("verify", run).code == 0
    file = run / "models" / "bcwi-seed-0.onnx"
    outcome = command("predict", file, run, "--out", tmp_path / "onnx.npz", "--device", "cpu")
    assert outcome.code == 0, outcome.stderr
    assert (load_predictions(tmp_path / "onnx.npz").predicted == arrays_of(run, "bcwi", "new")["predicted"]).all()


@pytest.mark.parametrize(
    ("replacement", "problem"),
    [
        (
            ("samples = 0.5", 'samples = 0.5\nnormalization = "imagnet"'),
            'normalization must be "imagenet", "published", or { mean',
        ),
        (("samples = 0.5", "samples = 0.5\nnormalization = { mean = [0.5] }"), "one value per channel"),
        (("samples = 0.5", "samples = 0.5\nnormalization = { mean = [0.5], std = [0] }"), "std above 0"),
        (("samples = 0.5", 'samples = 0.5\nnormalization = "imagenet"'), "must have 1 values of mean and std"),
        (("samples = 0.5", f"samples = 0.5\n{OWN}"), "models.new.normalization must be that of the model before it"),
        (
            ("[models.new]", f'[models.new]\n{OWN}\nstart = "previous"'),
            'models.new.normalization must be that of models.old, because start is "previous"',
        ),
    ],
)
def test_statistics_that_cannot_be_used_are_refused_before_any_training(refusal, config, replacement, problem):
    if "imagenet" in replacement[1] and "imagnet" not in replacement[1]:
        change(config, WITHOUT_OLD_WEIGHTS)
    change(config, replacement)
    code, lines = refusal("validate", config)
    assert code == 2
    assert any(problem in line for line in lines), lines
