from __future__ import annotations

import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torch.optim.swa_utils import AveragedModel

from regnas.errors import ArtifactError
from regnas.networks import read_weights


@pytest.fixture
def network():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


def equal(found, network):
    wanted = network.state_dict()
    return found.keys() == wanted.keys() and all(torch.equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda network: network.state_dict(),
        lambda network: {"epoch": 3, "state_dict": network.state_dict()},
        lambda network: {"model": network.state_dict(), "optimizer": {"lr": 0.1}},
        lambda network: {"model_state_dict": nn.DataParallel(network).state_dict()},
        lambda network: {"model": {"state_dict": network.state_dict()}},
        lambda network: {"model_ema": AveragedModel(network, use_buffers=True).state_dict()},
        lambda network: {"state_dict_ema": AveragedModel(nn.DataParallel(network), use_buffers=True).state_dict()},
        lambda network: {f"_orig_mod.{name}": value for name, value in network.state_dict().items()},
        lambda network: {f"module._orig_mod.{name}": value for name, value in network.state_dict().items()},
    ],
)
def test_the_files_of_training_scripts_are_read(tmp_path, network, wrap):
    torch.save(wrap(network), tmp_path / "mine.pth")
    assert equal(read_weights(tmp_path / "mine.pth"), network)


def test_prefixes_are_removed_from_safetensors(tmp_path, network):
    save_file({f"module.{name}": value for name, value in network.state_dict().items()}, tmp_path / "mine.safetensors")
    assert equal(read_weights(tmp_path / "mine.safetensors"), network)


def test_weights_beside_their_average_are_refused_because_one_of_them_is_in_use(tmp_path, network):
    averaged = AveragedModel(network).state_dict()
    torch.save({"model": network.state_dict(), "model_ema": averaged}, tmp_path / "mine.pth")
    with pytest.raises(ArtifactError, match=r"must hold one set of weights, got model and .* average model_ema\. Save"):
        read_weights(tmp_path / "mine.pth")
