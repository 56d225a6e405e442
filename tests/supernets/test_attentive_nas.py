from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import torch

from regnas.errors import ArtifactError
from regnas.runtime.tensors import load_into
from regnas.space import Architecture, Block, contains
from supernets.attentive_nas import AttentiveNAS

SHAPE, CLASSES = (3, 32, 32), 5
# The seven networks of the paper: resolution, widths, kernels, expansions, depths, and their millions of multiply-adds.
A0_TO_A6 = [
    (192, (16, 16, 24, 32, 64, 112, 192, 216, 1792), (3,) * 7, (1, 4, 4, 4, 4, 6, 6), (1, 3, 3, 3, 3, 3, 1), 203),
    (
        224,
        (16, 16, 24, 32, 64, 112, 192, 216, 1984),
        (3, 3, 3, 5, 3, 5, 3),
        (1, 4, 4, 4, 4, 6, 6),
        (1, 3, 3, 3, 3, 3, 1),
        279,
    ),
    (
        224,
        (16, 16, 24, 32, 64, 112, 200, 224, 1984),
        (3, 3, 3, 3, 3, 5, 3),
        (1, 4, 5, 4, 4, 6, 6),
        (1, 3, 3, 3, 3, 4, 1),
        317,
    ),
    (
        224,
        (16, 16, 24, 32, 64, 112, 208, 224, 1984),
        (3, 3, 3, 5, 3, 3, 3),
        (1, 4, 4, 4, 4, 6, 6),
        (2, 3, 3, 4, 3, 5, 1),
        357,
    ),
    (
        256,
        (16, 16, 24, 32, 64, 112, 192, 216, 1984),
        (3, 3, 3, 5, 3, 5, 3),
        (1, 4, 4, 5, 4, 6, 6),
        (1, 3, 3, 4, 3, 5, 1),
        444,
    ),
    (
        256,
        (16, 16, 24, 32, 72, 112, 192, 216, 1792),
        (3, 3, 3, 5, 3, 3, 3),
        (1, 4, 5, 4, 4, 6, 6),
        (1, 3, 3, 3, 4, 6, 1),
        491,
    ),
    (
        288,
        (16, 16, 24, 32, 64, 112, 216, 224, 1984),
        (3, 3, 3, 3, 3, 5, 3),
        (1, 4, 6, 5, 4, 6, 6),
        (1, 3, 3, 4, 4, 6, 1),
        709,
    ),
]


def architecture_of(resolution, widths, kernels, expansions, depths):
    stages = [(Block.of(width=widths[0]),)]
    before = widths[0]
    for width, kernel, expansion, depth in zip(widths[1:-1], kernels, expansions, depths, strict=True):
        first = Block.of(kernel=kernel, middle=before * expansion, width=width, projected=int(before != width))
        later = Block.of(kernel=kernel, middle=width * expansion, width=width)
        stages.append((first, *(later,) * (depth - 1)))
        before = width
    return Architecture("attentive_nas", (*stages, (Block.of(width=widths[-1]),)), resolution)


@pytest.mark.parametrize(("resolution", "widths", "kernels", "expansions", "depths", "millions"), A0_TO_A6)
def test_the_networks_of_the_paper_cost_what_it_says(resolution, widths, kernels, expansions, depths, millions):
    space = AttentiveNAS(resolutions=(192, 224, 256, 288)).space((3, 288, 288), 1000)
    architecture = architecture_of(resolution, widths, kernels, expansions, depths)
    space.check(architecture)
    assert round(space.cost(architecture).macs / 1e6) == millions


def a0(kernels=(3,) * 7, widths=A0_TO_A6[0][1]):
    return architecture_of(None, widths, kernels, *A0_TO_A6[0][3:5])


@pytest.mark.parametrize("gene", ["kernel", "middle", "width"])
def test_the_blocks_of_a_stage_are_alike(gene):
    space = AttentiveNAS().space(SHAPE, CLASSES)
    base = a0()
    other = Block.of(**{**dict(base.stages[2][1].genes), gene: {"kernel": 5, "middle": 120, "width": 32}[gene]})
    mixed = (base.stages[2][0], other, *base.stages[2][2:])
    with pytest.raises(ArtifactError, match=r"block 2 of stage 3 .* (is not allowed there|is not a choice there)"):
        space.check(Architecture(base.space, (*base.stages[:2], mixed, *base.stages[3:])))


def test_a_shortcut_has_weights_exactly_where_the_width_changes():
    torch.manual_seed(0)
    supernet = AttentiveNAS().supernet(SHAPE, CLASSES)
    for first, second in product((16, 24), repeat=2):
        names = supernet.extract(a0(widths=(first, second, *A0_TO_A6[0][1][2:]))).state_dict()
        assert ("stages.1.0.shortcut.conv.weight" in names) == (first != second)
        assert ("stages.2.0.shortcut.conv.weight" in names) == (second != 24)
        assert "stages.4.0.shortcut.conv.weight" in names
        assert "stages.4.1.shortcut.conv.weight" not in names


def test_a_network_without_a_shortcuts_weights_does_not_contain_one_with_them():
    narrow, wide = (a0(widths=(first, 24, *A0_TO_A6[0][1][2:])) for first in (16, 24))
    assert not contains(wide, narrow)  # 16 to 24 channels is projected, 24 to 24 is not
    assert not contains(narrow, wide)
    assert contains(a0(widths=(24, 24, 32, 40, *A0_TO_A6[0][1][4:])), a0())


def test_a_smaller_kernel_is_the_middle_of_the_larger_one():
    torch.manual_seed(0)
    supernet = AttentiveNAS().supernet(SHAPE, CLASSES)
    small, large = (supernet.extract(a0(kernels=(kernel,) * 7)) for kernel in (3, 5))
    kernels = [network.stages[3][1].depthwise.conv.weight for network in (small, large)]
    assert torch.equal(kernels[0], kernels[1][:, :, 1:4, 1:4])


def foreign_names():
    """The keys of the authors' file, in which every batch norm and every shortcut has more than is ever used."""
    counters = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")

    def norm(prefix):
        yield from (f"{prefix}.bn.bn.{name}" for name in counters)
        yield from (f"{prefix}.bn.bn_tracking.{index}.{name}" for index in (0, 1) for name in counters[2:])

    yield from ("first_conv.conv.conv.weight", *norm("first_conv"))
    expanding, squeezing = (False, *(True,) * 6), (False, False, True, False, True, True, True)
    index = 0
    for stage, depth in enumerate((2, 5, 6, 6, 8, 8, 2)):
        for _ in range(depth):
            block, conv = f"blocks.{index}", f"blocks.{index}.mobile_inverted_conv"
            layers = ("inverted_bottleneck", "depth_conv", "point_linear")[0 if expanding[stage] else 1 :]
            for layer in layers:
                yield from (f"{conv}.{layer}.conv.conv.weight", *norm(f"{conv}.{layer}"))
            if squeezing[stage]:
                gates = product(("reduce", "expand"), ("weight", "bias"))
                yield from (f"{conv}.depth_conv.se.fc.{layer}.{name}" for layer, name in gates)
            yield f"{block}.shortcut.conv.conv.weight"
            index += 1
    yield from ("last_conv.final_expand_layer.conv.conv.weight", *norm("last_conv.final_expand_layer"))
    yield from ("last_conv.feature_mix_layer.conv.conv.weight", "classifier.linear.linear.weight")
    yield "classifier.linear.linear.bias"


def test_the_authors_checkpoint_fills_the_supernet():
    plugin = AttentiveNAS()
    foreign = {f"module.{name}": torch.zeros(1, 1, 1, 1) for name in foreign_names()}
    with torch.device("meta"):
        own = plugin.supernet((3, 224, 224), 1000).state_dict()
    renamed = plugin.rename_tensors(foreign)
    assert renamed.keys() == own.keys()
    assert all(tensor.ndim == 2 for name, tensor in renamed.items() if name.endswith("mix.0.weight"))


def test_what_the_checkpoint_has_beyond_it_is_reported():
    plugin = AttentiveNAS()
    supernet = plugin.supernet(SHAPE, CLASSES)
    renamed = plugin.rename_tensors(
        {"module.blocks.40.mobile_inverted_conv.point_linear.conv.conv.weight": torch.zeros(1)}
    )
    with pytest.raises(ArtifactError, match=r"stages\.7\.5\.project\.conv\.weight does not belong to this network"):
        load_into(supernet, supernet.state_dict() | renamed, Path("other.pth.tar"))
