"""The Fisher information against a loop over samples with plain backward passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from regnas.data import DataFraction
from regnas.runtime.randomness import key_to_int
from regnas.updates.models import Trained
from regnas.updates.models.fisher import fisher_information, scale_to_mean_one
from tests.updates.models.making import SMALL


@dataclass(frozen=True)
class Linear:
    """One linear layer on the pixels."""

    def build(self, input_shape, classes):
        return nn.Sequential(nn.Flatten(), nn.Linear(64, classes))


def by_backward(store, model, samples, predicted):
    network, split = store.module(model), store.samples(model.share)
    chosen = torch.linspace(0, len(split) - 1, min(samples, len(split))).round().long()
    images = store.splits.preprocessing(split.images[chosen])
    with torch.no_grad():
        probabilities = network(images).softmax(dim=1)
    if predicted:
        return gradients_of(network, images, probabilities.argmax(dim=1))
    random = torch.Generator().manual_seed(key_to_int(store.seed, "labels for Fisher", store.identity(model)))
    return gradients_of(network, images, torch.multinomial(probabilities, 1, generator=random)[:, 0])


def gradients_of(network, images, labels):
    """The mean of the squared gradients of log p(label | image), one backward pass after the other."""
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
@pytest.mark.parametrize("labels", ["drawn", "predicted"])
def test_it_is_the_mean_square_of_the_gradients_of_single_samples(shared_shop, network, samples, labels):
    model = Trained(network, "for fisher", share=DataFraction(0.5))
    found = fisher_information(shared_shop, model, samples, labels)
    expected = by_backward(shared_shop, model, samples, labels == "predicted")
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-3, atol=1e-6)
    assert sum(float(value.sum()) for value in found.values()) > 0


def test_it_leaves_the_network_frozen_and_repeats_itself(shared_shop):
    model = Trained(SMALL, "for fisher", share=DataFraction(0.5))
    one, other = (fisher_information(shared_shop, model, 24, "drawn") for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert not any(weight.requires_grad or weight.grad is not None for weight in shared_shop.module(model).parameters())


def test_for_a_linear_classifier_it_is_the_closed_form_of_the_predicted_class(shared_shop):
    """d log p_y / d w_cj = (1[c = y] - p_c) x_j."""
    model = Trained(Linear(), "for fisher", share=DataFraction(0.5))
    split = shared_shop.samples(model.share)
    inputs = shared_shop.splits.preprocessing(split.images).flatten(1).double().numpy()  # [N, 64]
    weight, bias = (value.double().numpy() for value in shared_shop.module(model).parameters())
    exponentials = np.exp(inputs @ weight.T + bias)
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)  # [N, C]
    residual = np.eye(4)[probabilities.argmax(axis=1)] - probabilities  # [N, C]
    found = fisher_information(shared_shop, model, len(split), "predicted")
    expected = np.einsum("nc,nj->cj", residual**2, inputs**2) / len(split)
    np.testing.assert_allclose(found["1.weight"].numpy(), expected, rtol=1e-3)
    np.testing.assert_allclose(found["1.bias"].numpy(), (residual**2).mean(axis=0), rtol=1e-3)


def test_it_is_scaled_by_one_factor_to_a_mean_of_1_over_all_weights_alike():
    importance = {"weight": torch.tensor([[1.0, 2.0], [3.0, 0.0]]), "bias": torch.tensor([0.0, 12.0])}
    scaled = scale_to_mean_one(importance)  # the mean over the 6 numbers is 3
    torch.testing.assert_close(scaled["weight"], torch.tensor([[1 / 3, 2 / 3], [1.0, 0.0]]))
    torch.testing.assert_close(scaled["bias"], torch.tensor([0.0, 4.0]))
    assert importance["bias"][1] == 12
    # a confident model has small importances; their scale must not matter
    smaller = scale_to_mean_one({name: 1e-12 * value for name, value in importance.items()})
    assert all(torch.allclose(smaller[name], scaled[name]) for name in scaled)


def test_importances_that_are_all_0_stay_0():
    assert scale_to_mean_one({"weight": torch.zeros(3)})["weight"].tolist() == [0, 0, 0]
