"""The Fisher information against a loop over samples with plain backward passes."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from regnas.data import Share
from regnas.models import Trained
from regnas.models.fisher import fisher_information
from regnas.runtime.randomness import key_to_int
from tests.models.making import SMALL


@dataclass(frozen=True)
class Linear:
    """One linear layer on the pixels."""

    def build(self, input_shape, classes):
        return nn.Sequential(nn.Flatten(), nn.Linear(64, classes))


def by_backward(shop, model, samples):
    network, split = shop.module(model), shop.samples(model.share)
    chosen = torch.linspace(0, len(split) - 1, min(samples, len(split))).round().long()
    images = shop.splits.preprocessing(split.images[chosen])
    with torch.no_grad():
        probabilities = network(images).softmax(dim=1)
    random = torch.Generator().manual_seed(key_to_int(shop.seed, "labels for Fisher", shop.identity(model)))
    labels = torch.multinomial(probabilities, 1, generator=random)[:, 0]
    total = {name: torch.zeros_like(weight) for name, weight in network.named_parameters()}
    network.requires_grad_(True)
    for image, label in zip(images, labels, strict=True):
        network.zero_grad()
        network(image[None]).log_softmax(dim=1)[0, label].backward()
        for name, weight in network.named_parameters():
            total[name] += weight.grad**2 / len(images)
    network.zero_grad()
    network.requires_grad_(False)
    return total


@pytest.mark.parametrize("samples", [1, 40, 1000])  # one, more than a chunk, more than there are
@pytest.mark.parametrize("network", [Linear(), SMALL], ids=["linear", "resnet"])
def test_it_is_the_mean_square_of_the_gradients_of_single_samples(shared_shop, network, samples):
    model = Trained(network, "for fisher", share=Share(0.5))
    found, expected = fisher_information(shared_shop, model, samples), by_backward(shared_shop, model, samples)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-3, atol=1e-6)
    assert sum(float(value.sum()) for value in found.values()) > 0


def test_it_leaves_the_network_frozen_and_repeats_itself(shared_shop):
    model = Trained(SMALL, "for fisher", share=Share(0.5))
    one, other = (fisher_information(shared_shop, model, 24) for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert not any(weight.requires_grad or weight.grad is not None for weight in shared_shop.module(model).parameters())
