"""References from ofa: the architecture and the network of its active sub-network."""

from __future__ import annotations

import random

import torch
from torch import nn

from regnas.space import Architecture, Block
from supernets.ofa_mobilenet_v3 import OFAMobileNetV3
from supernets.ofa_proxyless import OFAProxyless
from supernets.ofa_resnet50 import OFAResNet50

SHAPE, CLASSES = (3, 64, 64), 10
PUBLISHED = {
    "mobilenet_v3_w1.0": OFAMobileNetV3(),
    "mobilenet_v3_w1.2": OFAMobileNetV3(width_multiplier=1.2),
    "proxyless_w1.3": OFAProxyless(),
    "resnet50": OFAResNet50(),
}


def supernet_of(plugin, shape=SHAPE, classes=CLASSES):
    """In evaluation, with all parts of batch norm and all kernel transformations at random."""
    torch.manual_seed(0)
    supernet = plugin.supernet(shape, classes).eval()
    for name, parameter in supernet.named_parameters():
        if name.endswith("_matrix"):
            nn.init.normal_(parameter, std=parameter.shape[0] ** -0.5)
    for module in supernet.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.3, 0.8)
            nn.init.normal_(module.bias, std=0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
            nn.init.normal_(module.running_mean, std=0.1)
    return supernet


def sampled(network, seed):
    """A random sub-network is active afterwards; the genotype that ofa drew."""
    random.seed(seed)
    return network.sample_active_subnet()


def active_architecture(space, network) -> Architecture:
    """Read from ofa's description of the active sub-network."""
    config = network.get_active_net_config()
    if space.name == "ofa_resnet50":
        first, *residual, last = config["input_stem"]
        stem = Block.of(middle=first["out_channels"], width=last["out_channels"], residual=len(residual))
        blocks = [Block.of(middle=block["mid_channels"], width=block["out_channels"]) for block in config["blocks"]]
        depths = [
            len(group) - left_out
            for group, left_out in zip(network.grouped_block_index, network.runtime_depth, strict=True)
        ]
        stages = [(stem,), *in_groups(blocks, depths)]
    else:
        layers = [block["conv"] for block in config["blocks"][1:]]
        blocks = [Block.of(kernel=layer["kernel_size"], middle=layer["mid_channels"]) for layer in layers]
        stages = in_groups(blocks, network.runtime_depth)
    return Architecture(space.name, tuple(stages))


def in_groups(blocks, sizes):
    rest = iter(blocks)
    groups = [tuple(next(rest) for _ in range(size)) for size in sizes]
    assert next(rest, None) is None
    return groups
