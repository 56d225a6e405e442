from __future__ import annotations

import copy
import io

import pytest
import torch
from torch import nn
from torchvision import models

from regnas.errors import ConfigurationError
from regnas.networks import SmallResNet, captured_features, classifier_of, with_dropout


@pytest.fixture
def network() -> nn.Module:
    torch.manual_seed(0)
    return SmallResNet(widths=(4, 32)).build((1, 8, 8), 5)


def images(number: int = 3) -> torch.Tensor:
    return torch.randn(number, 1, 8, 8, generator=torch.Generator().manual_seed(1))


def test_the_classifier_is_the_last_linear_layer_of_that_many_outputs(network):
    assert classifier_of(network, 5) is network.classifier
    layers = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 3), nn.Linear(3, 4))
    assert classifier_of(layers, 3) is layers[1]
    mobile = models.mobilenet_v3_small(num_classes=7)
    assert classifier_of(mobile, 7) is mobile.classifier[3]


def test_a_network_without_a_linear_classifier_is_refused(network):
    with pytest.raises(ConfigurationError, match="ResNet of 6 classes has no linear classifier"):
        classifier_of(network, 6)
    with pytest.raises(ConfigurationError, match="SqueezeNet of 5 classes has no linear classifier"):
        classifier_of(models.squeezenet1_1(num_classes=5), 5)


@pytest.mark.parametrize("training", [True, False])
def test_the_features_times_the_weights_plus_the_bias_are_the_logits(network, training):
    with_dropout(network, 5, 0.5).train(training)
    with captured_features(network, 5) as read:
        logits = network(images())
        features = read()
    assert features.shape == (3, 32)
    torch.testing.assert_close(features @ network.classifier.weight.T + network.classifier.bias, logits)


def test_features_are_those_of_the_last_pass_and_carry_gradients(network):
    with captured_features(network, 5) as read:
        network(images(2))
        network(images(4))
        features = read()
    assert len(features) == 4
    features.sum().backward()
    assert network.stem.weight.grad.abs().sum() > 0
    assert network.classifier.weight.grad is None


def test_blocks_nest_and_leave_nothing_behind(network):
    with captured_features(network, 5) as outer:
        with captured_features(network, 5) as inner:
            network(images(2))
            assert inner() is outer()
        network(images(3))
        assert len(inner()) == 2 and len(outer()) == 3
    network(images(4))
    assert len(outer()) == 3
    with pytest.raises(KeyError), captured_features(network, 5):
        raise KeyError
    assert not network.classifier._forward_pre_hooks


def test_reading_before_a_pass_is_an_error(network):
    with captured_features(network, 5) as read, pytest.raises(RuntimeError, match="no forward pass"):
        read()


def through_pickle(network: nn.Module) -> nn.Module:
    file = io.BytesIO()
    torch.save(network, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("copied", [lambda network: network, copy.deepcopy, through_pickle])
def test_dropout_is_active_in_training_alone(network, copied):
    keys = list(network.state_dict())
    plain = copy.deepcopy(network).eval()(images())
    assert with_dropout(network, 5, 0.25) is network
    network = copied(network)
    assert list(network.state_dict()) == keys
    assert torch.equal(network.eval()(images()), plain)
    network.train()
    with captured_features(network, 5) as read:
        network(torch.randn(200, 1, 8, 8))
        share = (read() == 0).float().mean().item()
    assert 0.2 < share < 0.4  # a quarter dropped, and few features are zero by themselves
    network.classifier.eval()  # the flag of the classifier decides
    one, two = network(images()), network(images())
    torch.testing.assert_close(one, two)


def test_dropout_keeps_the_expectation(network):
    with_dropout(network, 5, 0.25)
    ones = torch.ones(4000, 32)
    expected = network.classifier.weight.sum(1) + network.classifier.bias
    torch.testing.assert_close(network.classifier(ones).mean(0), expected, atol=0.02, rtol=0)


@pytest.mark.parametrize("probability", [-0.1, 1.0, float("nan")])
def test_impossible_probabilities_are_refused(network, probability):
    with pytest.raises(ValueError, match="probability of dropout"):
        with_dropout(network, 5, probability)
