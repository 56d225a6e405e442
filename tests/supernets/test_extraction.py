from __future__ import annotations

from copy import deepcopy

import torch
from torch import nn

from supernets.elastic_resnet import ElasticResNet
from supernets.extraction import build, lay_out, named, with_tensors
from supernets.layers import ConvNorm


def tensors_of(network, seed):
    generator = torch.Generator().manual_seed(seed)
    return {
        name: torch.rand(tensor.shape, generator=generator) if tensor.is_floating_point() else torch.tensor(3)
        for name, tensor in network.state_dict().items()
    }


def layered(make):
    return nn.Sequential(make(ConvNorm, 4, 4, 3, 1, 1, "relu"), make(ConvNorm, 4, 4, 3, 1, 1, "relu"))


def test_a_layer_is_laid_out_once_and_without_storage():
    assert lay_out(ConvNorm, 4, 8, 3) is lay_out(ConvNorm, 4, 8, 3)
    assert lay_out(ConvNorm, 4, 8, 3).conv.weight.is_meta


def test_a_copy_computes_what_a_network_built_and_loaded_does():
    built = layered(build)
    tensors = tensors_of(built, seed=0)
    built.load_state_dict(tensors)
    copied = with_tensors(layered(lay_out), named(tensors), training=False)
    images = torch.randn(2, 4, 5, 5)
    assert torch.equal(copied(images), built.eval()(images))
    assert str(copied) == str(built)
    assert all(isinstance(parameter, nn.Parameter) and parameter.requires_grad for parameter in copied.parameters())


def test_layers_that_the_template_shares_are_separate_in_the_copy():
    template = layered(lay_out)
    assert template[0] is template[1]
    tensors = tensors_of(layered(build), seed=1)
    first, second = with_tensors(template, named(tensors), training=True)
    assert torch.equal(first.conv.weight, tensors["0.conv.weight"])
    assert torch.equal(second.conv.weight, tensors["1.conv.weight"])
    with torch.no_grad():
        first.conv.weight.zero_()
    assert second.conv.weight.any()
    assert tensors["0.conv.weight"].any()


def test_hooks_and_modes_of_one_copy_are_not_those_of_another():
    template = layered(lay_out)
    tensors = tensors_of(layered(build), seed=2)
    one, other = (with_tensors(template, named(tensors), training=True) for _ in range(2))
    one[0].conv.register_forward_hook(lambda *_: None)
    one.eval()
    assert not other[0].conv._forward_hooks
    assert not template[0].conv._forward_hooks
    assert other[0].training


def test_without_copying_gradients_reach_the_given_tensors():
    template = layered(lay_out)
    tensors = tensors_of(layered(build), seed=3)
    whole = torch.rand(8, 8, 3, 3, requires_grad=True)
    tensors["0.conv.weight"] = whole[:4, :4]
    network = with_tensors(template, named(tensors), training=True, copied=False)
    network(torch.randn(2, 4, 5, 5)).sum().backward()
    assert whole.grad[:4, :4].any()
    assert not whole.grad[4:].any()
    assert not whole.grad[:, 4:].any()


def test_a_copied_supernet_gives_its_own_weights():
    supernet = ElasticResNet().supernet((1, 16, 16), 10)
    smallest = ElasticResNet().space((1, 16, 16), 10).smallest
    other = deepcopy(supernet)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    assert all(parameter.any() for parameter in supernet.extract(smallest).parameters() if parameter.ndim == 4)
    assert not any(parameter.any() for parameter in other.extract(smallest).parameters())
