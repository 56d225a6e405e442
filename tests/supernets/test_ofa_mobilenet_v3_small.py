from __future__ import annotations

import pytest
import torch

from regnas.losses import CrossEntropy
from regnas.space import Cost
from regnas.training import Curriculum, Step, SupernetObjective, calibrate
from regnas.training.sub_networks import Sandwich
from supernets.ofa_mobilenet_v3_small import OFAMobileNetV3Small

TINY = OFAMobileNetV3Small(widths=(8, 16), strides=(1, 2), depths=(1, 2), stem_width=8, stem_stride=1)


def test_cost_by_hand():
    plugin = OFAMobileNetV3Small(
        widths=(8, 16), strides=(2, 1), kernels=(3,), expansions=(3,), depths=(1, 1), stem_width=8, stem_stride=2
    )
    space = plugin.space((1, 16, 16), 10)
    # stem 8x8 pixels; first block 8 -> 8 without expansion; block 1 (stride 2, 4x4): 8 -> 24 -> 8;
    # block 2: 8 -> 24 -> 16 with squeeze and excitation 24 -> 8 -> 24; head 16 -> 96, average, 96 -> 128, 128 -> 10
    stem, first = 9 * 8, 9 * 8 + 8 * 8
    expand, depthwise, gate = 8 * 24, 9 * 24, 2 * 24 * 8
    macs = (stem + first) * 64 + expand * 64 + (depthwise + 24 * 8) * 16
    macs += (expand + depthwise + 24 * 16) * 16 + gate + 16 * 96 * 16 + 96 * 128 + 128 * 10
    weights = stem + first + (expand + depthwise + 24 * 8) + (expand + depthwise + 24 * 16) + gate
    weights += 16 * 96 + 96 * 128 + 128 * 10
    norms = 2 * (8 + 8 + 8 + 24 + 24 + 8 + 24 + 24 + 16 + 96)
    assert space.cost(space.largest) == Cost(macs, weights + norms + (8 + 24) + 10)


def test_the_defaults_span_a_wide_range_at_32_pixels():
    low, high = OFAMobileNetV3Small().space((3, 32, 32), 10).macs_range
    assert 1e6 < low < 2e6
    assert 12e6 < high < 16e6


@pytest.mark.parametrize(("channels", "size", "stem_stride"), [(3, 32, 2), (1, 16, 1), (4, 16, 1)])
def test_four_pixels_are_left_at_the_end(channels, size, stem_stride):
    plugin = OFAMobileNetV3Small(stem_stride=stem_stride)
    space = plugin.space((channels, size, size), 10)
    *before, _ = plugin.network(space.smallest, (channels, size, size), 10).eval().parts()
    x = torch.zeros(1, channels, size, size)
    for part in before:
        x = part(x)
    assert x.shape[-2:] == (2, 2)


def test_training_by_the_sandwich_rule_teaches_all_of_it():
    generator = torch.Generator().manual_seed(0)
    targets = torch.arange(60) % 3
    patterns = torch.randn(3, 1, 8, 8, generator=generator)
    images = patterns[targets] + 0.5 * torch.randn(60, 1, 8, 8, generator=generator)
    space = TINY.space((1, 8, 8), 3)
    torch.manual_seed(0)
    supernet = TINY.supernet((1, 8, 8), 3).train()
    objective = SupernetObjective(space, Curriculum(Sandwich(random=1)), CrossEntropy(), (0,))
    optimizer = torch.optim.SGD(supernet.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for index in range(25):
        loss = objective(supernet, Step(images, targets, torch.arange(60), index, index / 25))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-5:]) < 0.3 * sum(losses[:5])
    for architecture in (space.smallest, space.largest):
        network = calibrate(supernet.extract(architecture), images)
        with torch.no_grad():
            assert (network(images).argmax(1) == targets).float().mean() > 0.9


def test_dropout_is_the_supernets_while_it_trains_and_no_extracted_network_has_it():
    plugin = OFAMobileNetV3Small(widths=(8,), strides=(1,), depths=(1, 1), stem_width=8, dropout=0.5)
    torch.manual_seed(0)
    supernet = plugin.supernet((1, 8, 8), 3).train()
    largest = plugin.space((1, 8, 8), 3).largest
    images = torch.randn(4, 1, 8, 8)
    assert not torch.allclose(supernet(images, largest), supernet(images, largest))
    alone = supernet.extract(largest)
    torch.testing.assert_close(alone(images), alone(images))
    supernet.eval()
    assert torch.equal(supernet(images, largest), supernet(images, largest))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"widths": ()}, "1 to 5 values, one per stage, got 0"),
        ({"widths": (16, 24)}, "strides must have one value per width, got 5 for 2"),
        ({"widths": (12,), "strides": (1,)}, "multiples of 8"),
        ({"stem_stride": 4}, "strides must be 1 or 2"),
        ({"kernels": (3, 4)}, "kernels must be odd"),
        ({"expansions": (1,)}, "expansions must be above 1"),
        ({"depths": (0, 2)}, "depths must be"),
        ({"dropout": 1.0}, "dropout must be"),
        ({"resolutions": (16, 16)}, "resolutions must be positive and different"),
    ],
)
def test_impossible_settings_are_refused(settings, problem):
    with pytest.raises(ValueError, match=problem):
        OFAMobileNetV3Small(**settings)
