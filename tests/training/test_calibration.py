from __future__ import annotations

import torch
from torch import nn

from regnas.training import calibrate


def test_statistics_are_the_plain_averages_over_the_batches():
    images = torch.randn(512, 2, 3, 3, generator=torch.Generator().manual_seed(0)) * 3 + 1
    network = nn.Sequential(nn.BatchNorm2d(2))
    calibrate(network, images)
    norm = network[0]
    batches = images.split(256)
    means = torch.stack([batch.mean(dim=(0, 2, 3)) for batch in batches]).mean(0)
    variances = torch.stack([batch.var(dim=(0, 2, 3), correction=0) for batch in batches]).mean(0)
    torch.testing.assert_close(norm.running_mean, means)
    torch.testing.assert_close(norm.running_var, variances)


def test_what_was_there_before_does_not_matter_and_nothing_else_changes():
    images = torch.randn(64, 2, 3, 3, generator=torch.Generator().manual_seed(0))
    fresh, used = nn.BatchNorm2d(2), nn.BatchNorm2d(2)
    used(torch.randn(8, 2, 3, 3) * 100)
    calibrate(fresh, images)
    calibrate(used, images)
    assert torch.equal(fresh.running_mean, used.running_mean)
    assert torch.equal(fresh.running_var, used.running_var)
    assert used.momentum == 0.1
    assert not used.training
