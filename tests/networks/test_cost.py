from __future__ import annotations

import pytest
import torch
from torch import nn
from torchvision import models

from regnas.networks import macs_of, parameters_of


def test_macs_and_parameters_are_those_that_torchvision_publishes():
    published = models.ResNet18_Weights.IMAGENET1K_V1.meta
    network = models.resnet18()
    assert macs_of(network, (3, 224, 224)) / 1e9 == pytest.approx(published["_ops"], abs=0.0005)
    assert parameters_of(network) == published["num_params"]


def test_attention_is_counted():
    network = models.VisionTransformer(8, 4, num_layers=1, num_heads=1, hidden_dim=4, mlp_dim=8, num_classes=2)
    # 4 patches of 3x4x4 to 4 channels; 5 tokens with the class token: query, key, value; both products; output; MLP
    by_hand = 4 * 48 * 4 + 5 * 4 * 12 + 2 * 5 * 5 * 4 + 5 * 4 * 4 + 2 * 5 * 4 * 8 + 4 * 2
    enabled = torch.backends.mha.get_fastpath_enabled()
    assert macs_of(network, (3, 8, 8)) == by_hand
    assert torch.backends.mha.get_fastpath_enabled() == enabled


def test_counting_changes_nothing():
    network = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.BatchNorm2d(2), nn.Flatten(), nn.Dropout(0.5))
    network.train()
    network[2].eval()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    state = torch.get_rng_state()
    assert macs_of(network, (1, 4, 4)) == 9 * 2 * 4
    assert [module.training for module in network] == [True, True, False, True, True]
    assert torch.is_grad_enabled()
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_modes_are_restored_after_an_image_that_does_not_fit():
    network = nn.Conv2d(1, 2, 3).train()
    with pytest.raises(RuntimeError):
        macs_of(network, (2, 4, 4))
    assert network.training


def test_a_network_without_parameters_costs_nothing():
    assert macs_of(nn.Flatten(), (1, 2, 2)) == parameters_of(nn.Flatten()) == 0
