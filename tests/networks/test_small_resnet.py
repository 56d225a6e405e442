from __future__ import annotations

import math

import pytest
import torch
from pydantic import TypeAdapter

from regnas.networks import NETWORKS, SmallResNet, macs_of, parameters_of
from regnas.networks.resnet import ResNet


def test_cost_by_hand():
    network = SmallResNet(widths=(2, 4), blocks=1, expansion=1.5, patch=2).build((1, 6, 4), 3)
    # stem: 4 channels of 2x2 patches in, 2 out, 3x2 pixels; block 1: 2 -> 3 -> 2 at 3x2; block 2: 2 -> 6 -> 4 at 2x1
    assert macs_of(network, (1, 6, 4)) == 72 * 6 + (54 + 54) * 6 + (108 + 216) * 2 + 4 * 3
    # two parameters a channel of batch norm
    assert parameters_of(network) == (72 + 4) + (108 + 2 * (3 + 2)) + (324 + 2 * (6 + 4)) + 5 * 3
    assert network(torch.zeros(2, 1, 6, 4)).shape == (2, 3)


def test_the_logits_are_those_of_the_formula():
    torch.manual_seed(0)
    network = SmallResNet(widths=(2, 3), patch=1).build((1, 5, 5), 4).eval()
    assert isinstance(network, ResNet)
    images = torch.randn(2, 1, 5, 5)

    def norm(x: torch.Tensor) -> torch.Tensor:
        return x / math.sqrt(1 + 1e-5)  # fresh statistics: mean 0, variance 1

    def conv(x: torch.Tensor, weight: torch.Tensor, stride: int = 1) -> torch.Tensor:
        return torch.conv2d(x, weight, stride=stride, padding=1)

    first, second = network.stages[0][0], network.stages[1][0]
    x = norm(conv(images, network.stem.weight)).relu()
    x = (norm(conv(norm(conv(x, first.conv1.weight)).relu(), first.conv2.weight)) + x).relu()
    # 5x5 is averaged in windows of 2x2; those over the edge average what lies inside
    corners = [[x[:, :, 2 * r : 2 * r + 2, 2 * c : 2 * c + 2].mean((2, 3)) for c in range(3)] for r in range(3)]
    shortcut = torch.stack([torch.stack(row, -1) for row in corners], -2)
    shortcut = torch.cat([shortcut, torch.zeros(2, 1, 3, 3)], 1)
    x = (norm(conv(norm(conv(x, second.conv1.weight, 2)).relu(), second.conv2.weight)) + shortcut).relu()
    expected = x.mean((2, 3)) @ network.classifier.weight.T + network.classifier.bias
    torch.testing.assert_close(network(images), expected)


def test_blocks_are_residual_blocks_a_stage():
    network = SmallResNet(widths=(2, 4, 4), blocks=2).build((3, 8, 8), 5)
    assert isinstance(network, ResNet)
    assert [[block.stride for block in stage] for stage in network.stages] == [[1, 1], [2, 1], [2, 1]]
    assert {name.split(".")[0] for name in network.state_dict()} == {"stem", "stem_norm", "stages", "classifier"}


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"widths": ()}, "widths must be at least one"),
        ({"widths": (0, 4)}, r"got \[0, 4\]"),
        ({"widths": (8, 4)}, r"shrink from stage to stage, got \[8, 4\]"),
        ({"blocks": 0}, "blocks must be at least 1, got 0"),
        ({"expansion": 0.0}, r"expansion must be positive and finite, got 0\.0"),
        ({"expansion": math.nan}, "got nan"),
        ({"expansion": math.inf}, "got inf"),
        ({"patch": 0}, "patch must be at least 1, got 0"),
    ],
)
def test_impossible_values_are_refused(keys, complaint):
    with pytest.raises(ValueError, match=complaint):
        SmallResNet(**keys)


def test_patches_that_do_not_tile_the_image_are_refused():
    with pytest.raises(ValueError, match="patch must divide height and width, got 2 for images of 8 x 7"):
        SmallResNet(patch=2).build((1, 8, 7), 3)


def test_the_table_knows_the_networks_and_fields_come_from_a_configuration():
    assert sorted(NETWORKS) == ["small_resnet", "timm", "torchvision"]
    assert TypeAdapter(SmallResNet).validate_json('{"widths": [4, 8], "expansion": 2}', strict=True) == SmallResNet(
        (4, 8), expansion=2.0
    )
    for kind in NETWORKS.values():
        assert (kind.__doc__ or "").splitlines()[0].endswith(".")
