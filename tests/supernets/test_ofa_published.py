"""The published spaces against ofa's own networks."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from ofa.utils import count_net_flops

from regnas.errors import ArtifactError
from regnas.space import Architecture, Block
from supernets.ofa_mobilenet_v3 import OFAMobileNetV3
from supernets.ofa_proxyless import OFAProxyless
from supernets.ofa_resnet50 import OFAResNet50
from tests.supernets.ofa_references import CLASSES, PUBLISHED, SHAPE, active_architecture, sampled, supernet_of


@pytest.fixture(params=PUBLISHED, scope="module")
def plugin(request):
    return PUBLISHED[request.param]


@pytest.fixture(scope="module")
def supernet(plugin):
    return supernet_of(plugin)


@pytest.fixture(scope="module")
def space(plugin):
    return plugin.space(SHAPE, CLASSES)


@torch.no_grad()
def test_extracted_networks_compute_what_ofas_own_do(space, supernet):
    images = torch.randn(4, *SHAPE, generator=torch.Generator().manual_seed(0))
    for seed in range(4):
        sampled(supernet.network, seed)
        expected = supernet.network.get_active_subnet().eval()(images)
        architecture = active_architecture(space, supernet.network)
        space.check(architecture)
        scale = expected.abs().max()
        torch.testing.assert_close(supernet.extract(architecture)(images) / scale, expected / scale, rtol=0, atol=1e-5)
        torch.testing.assert_close(supernet(images, architecture), expected, rtol=0, atol=0)


@torch.no_grad()
def test_genes_beyond_the_active_depth_do_nothing(space, supernet):
    images = torch.randn(2, *SHAPE, generator=torch.Generator().manual_seed(0))
    network = supernet.network
    genotype = sampled(network, seed=3)
    architecture, logits = active_architecture(space, network), network(images)
    active = {id(block) for block in active_blocks(network)}
    other = {gene: list(values) for gene, values in genotype.items()}
    random.seed(1)
    blocks = network.blocks if space.name == "ofa_resnet50" else network.blocks[1:]
    for index, block in enumerate(blocks):
        if id(block) not in active:
            other["e"][index] = random.choice([e for e in network.expand_ratio_list if e != genotype["e"][index]])
    assert other != genotype
    network.set_active_subnet(**other)
    assert active_architecture(space, network) == architecture
    assert torch.equal(network(images), logits)
    assert torch.equal(supernet(images, architecture), logits)


def active_blocks(network):
    for group, depth in zip(network.grouped_block_index, network.runtime_depth, strict=True):
        kept = len(group) - depth if hasattr(network, "input_stem") else depth
        yield from (network.blocks[index] for index in group[:kept])


def test_the_supernet_has_the_keys_of_a_checkpoint(supernet):
    keys = {name.removeprefix("network.") for name in supernet.state_dict()}
    assert keys == set(supernet.network.state_dict())
    expected = (
        {"input_stem.1.conv.bn.bn.running_var", "blocks.17.conv2.conv.conv.weight", "classifier.linear.linear.bias"}
        if hasattr(supernet.network, "input_stem")
        else {"blocks.20.conv.depth_conv.conv.7to5_matrix", "first_conv.bn.weight", "classifier.linear.weight"}
    )
    assert expected <= keys


@pytest.mark.parametrize(
    ("plugin", "smallest", "largest"),
    [
        (OFAMobileNetV3(), 121.28, 566.17),
        (OFAMobileNetV3(width_multiplier=1.2), 193.08, 843.10),
        (OFAProxyless(), 265.53, 1004.91),
        (OFAResNet50(), 962.19, 7491.64),
    ],
)
def test_multiply_adds_at_224_pixels_are_those_that_ofa_counts(plugin, smallest, largest):
    shape, classes = (3, 224, 224), 1000
    space = plugin.space(shape, classes)
    assert [round(macs / 1e6, 2) for macs in space.macs_range] == [smallest, largest]
    supernet = plugin.supernet(shape, classes).eval()
    supernet(torch.zeros(1, 3, 32, 32), space.smallest)  # it is active afterwards
    counted = count_net_flops(supernet.network.get_active_subnet().eval(), (1, *shape))
    assert counted == pytest.approx(space.cost(space.smallest).macs, rel=1e-6)


@pytest.mark.parametrize("kernel", [3, 5, 7])
def test_a_smaller_kernel_is_a_linear_map_of_the_middle_of_the_next_larger_one(kernel):
    supernet = supernet_of(OFAMobileNetV3(width_multiplier=0.25))
    space = OFAMobileNetV3(width_multiplier=0.25).space(SHAPE, CLASSES)
    chosen = space.largest.stages[1][2]
    block = Block.of(kernel=kernel, middle=chosen["middle"])
    stages = list(space.largest.stages)
    stages[1] = (*stages[1][:2], block, *stages[1][3:])
    layer = supernet.network.blocks[1 + 4 + 2].conv.depth_conv.conv
    expected = layer.conv.weight.detach().numpy()[:, 0]  # [C, 7, 7]
    for size in (5, 3):
        if size >= kernel:
            matrix = getattr(layer, f"{size + 2}to{size}_matrix").detach().numpy()
            middle = expected[:, 1:-1, 1:-1].reshape(len(expected), size**2)
            expected = np.einsum("oi,ci->co", matrix, middle).reshape(-1, size, size)
    extracted = supernet.extract(Architecture(space.name, tuple(stages))).stages[1][2].depthwise.conv.weight
    np.testing.assert_allclose(extracted.detach().numpy()[:, 0], expected, rtol=1e-4, atol=1e-6)


def changed(architecture, stage, position, **genes):
    block = Block.of(**{**dict(architecture.stages[stage][position].genes), **genes})
    blocks = list(architecture.stages[stage])
    blocks[position] = block
    stages = list(architecture.stages)
    stages[stage] = tuple(blocks)
    return Architecture(architecture.space, tuple(stages), architecture.resolution)


def wrong_architectures():
    mobile, resnet = (plugin.space(SHAPE, CLASSES).largest for plugin in (OFAMobileNetV3(), OFAResNet50()))
    shallow = Architecture(mobile.space, (mobile.stages[0][:1], *mobile.stages[1:]))
    return [
        (OFAMobileNetV3(), changed(mobile, 1, 0, kernel=9), r"block 1 of stage 2 \(kernel=9,middle=144\) is no"),
        (OFAMobileNetV3(), changed(mobile, 1, 0, middle=145), "is not a choice there"),
        (OFAMobileNetV3(), shallow, "stage 1 of ofa_mobilenet_v3 must have 2 to 4 blocks, got 1"),
        (OFAMobileNetV3(), resnet, 'must be "ofa_mobilenet_v3", got "ofa_resnet50"'),
        (OFAMobileNetV3(), replace(mobile, resolution=48), "the resolution in ofa_mobilenet_v3 must be"),
        (OFAResNet50(), changed(resnet, 2, 1, width=408, middle=80), "block 2 of stage 3 .* is not allowed there"),
        (OFAResNet50(), changed(resnet, 0, 0, residual=2), "is not a choice there"),
    ]


@pytest.mark.parametrize(("plugin", "wrong", "problem"), wrong_architectures())
def test_what_ofa_would_run_without_a_word_is_refused(plugin, wrong, problem):
    supernet = plugin.supernet(SHAPE, CLASSES)
    for call in (supernet.extract, lambda architecture: supernet(torch.zeros(2, *SHAPE), architecture)):
        with pytest.raises(ArtifactError, match=problem) as caught:
            call(wrong)
        assert "\n" not in str(caught.value)
