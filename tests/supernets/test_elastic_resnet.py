from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from regnas.space import Architecture, Block, Cost
from supernets.elastic_resnet import ElasticResNet


def test_cost_by_hand():
    plugin = ElasticResNet(widths=((8,), (16,)), depths=(1, 1), expansions=(0.5,), stem_width=4, patch=2)
    space = plugin.space((1, 16, 16), 10)
    # stem: 4 channels of 2x2 patches in, 4 out, 8x8 pixels; block 1: 4 -> 4 -> 8 at 8x8; block 2: 8 -> 8 -> 16 at 4x4
    macs = 9 * 4 * 4 * 64 + 9 * 4 * (4 + 8) * 64 + 9 * 8 * (8 + 16) * 16 + 16 * 10
    parameters = (9 * 16 + 8) + (9 * 4 * 12 + 2 * 12) + (9 * 8 * 24 + 2 * 24) + 17 * 10
    assert space.cost(space.largest) == Cost(macs, parameters)


@pytest.mark.parametrize("size", [(13, 9), (7, 7)])
def test_costs_hold_for_sizes_that_do_not_halve_evenly(size):
    plugin = ElasticResNet()
    space = plugin.space((3, *size), 5)
    with FlopCounterMode(display=False) as counter:
        plugin.network(space.largest, (3, *size), 5).eval()(torch.zeros(1, 3, *size))
    assert space.cost(space.largest).macs == counter.get_total_flops() // 2


def test_widths_never_shrink_along_the_network():
    space = ElasticResNet(widths=((8, 16), (12, 16))).space((1, 16, 16), 10)
    wide, narrow = Block.of(width=16, expansion=1.0), Block.of(width=12, expansion=1.0)
    assert space.rules.step(8, 0, 0, wide) is not None
    assert space.rules.step(16, 1, 0, narrow) is None
    with pytest.raises(Exception, match="is not allowed there"):
        space.cost(Architecture("elastic_resnet", ((wide,), (narrow,))))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"widths": ()}, "at least one width"),
        ({"expansions": ()}, "expansions at least one value"),
        ({"expansions": (0.0,)}, "expansions must be positive"),
        ({"depths": (0, 2)}, "depths must be"),
        ({"depths": (3, 2)}, "depths must be"),
        ({"stem_width": 32}, "at least as wide as the stem"),
        ({"patch": 0}, "positive"),
        ({"widths": ((16, 32), (8, 16))}, "at least as wide as the one before"),
    ],
)
def test_impossible_settings_are_refused(settings, problem):
    with pytest.raises(ValueError, match=problem):
        ElasticResNet(**settings)


def test_patches_have_to_tile_the_image():
    with pytest.raises(ValueError, match="patch must divide height and width, got 2 for images of 15 x 16"):
        ElasticResNet(patch=2).space((1, 15, 16), 10)
