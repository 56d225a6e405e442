"""The networks of an update study, as someone who ships one of them loads them."""

from __future__ import annotations

import pytest
import torch

import regnas
from regnas.errors import ArtifactError, ConfigurationError
from regnas.family.updated import write_updated
from regnas.networks import SmallResNet

TABLE = {"name": "small_resnet", "widths": [4, 8]}
DATA = {
    "input_shape": [1, 8, 8],
    "classes": ["a", "b", "c"],
    "preprocessing": {"mean": [0.5], "std": [0.25]},
    "digest": "0" * 64,
}


@pytest.fixture
def network():
    torch.manual_seed(0)
    built = SmallResNet(widths=(4, 8)).build((1, 8, 8), 3)
    built(torch.randn(16, 1, 8, 8))  # statistics that are not the fresh ones
    return built.eval()


@pytest.fixture
def run(tmp_path, network):
    write_updated(tmp_path / "models", {("elodi", 1): network}, TABLE, DATA)
    return tmp_path


def test_what_is_loaded_computes_what_was_written(run, network):
    loaded = regnas.load_updated(run, "elodi", seed=1)
    images = torch.randint(0, 256, (5, 1, 8, 8), dtype=torch.uint8)
    prepared = (images / 255 - 0.5) / 0.25
    torch.testing.assert_close(loaded.network(loaded.preprocess(images)), network(prepared))
    assert not loaded.network.training
    assert loaded.classes == ("a", "b", "c")


def test_a_method_or_seed_that_is_not_there_is_refused_with_those_that_are(run):
    for method, seed in (("elodi", 0), ("bcwi", 1)):
        with pytest.raises(ConfigurationError, match=r"there are: elodi \(seed 1\)"):
            regnas.load_updated(run, method, seed)


def test_one_flipped_bit_is_found(run):
    path = run / "models" / "elodi-seed-1.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match=r"elodi-seed-1\.safetensors is damaged"):
        regnas.load_updated(run, "elodi", 1)


def test_a_manifest_cannot_name_a_file_outside_its_folder(run):
    manifest = run / "models" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("elodi-seed-1.safetensors", "../../elodi-seed-1.safetensors"))
    assert regnas.load_updated(run, "elodi", 1).classes == ("a", "b", "c")
