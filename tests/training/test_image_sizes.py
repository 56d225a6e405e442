from __future__ import annotations

import pytest
import torch
from torch import nn

from regnas.errors import ConfigurationError
from regnas.training import check_sizes


def test_a_size_that_a_network_cannot_take_is_refused_and_the_network_is_left_as_it_was():
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 36, 2)).train()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    check_sizes(network, [(3, 8, 8)], "models.new")
    with pytest.raises(ConfigurationError, match=r"images of models\.new must have .* got 10 x 8 pixels: .*shapes"):
        check_sizes(network, [(3, 8, 8), (3, 10, 8)], "models.new")
    assert network.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())
