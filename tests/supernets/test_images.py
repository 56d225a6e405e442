"""Channels and resolutions, in all spaces that have them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from supernets.attentive_nas import AttentiveNAS
from supernets.ofa_mobilenet_v3 import OFAMobileNetV3
from supernets.ofa_mobilenet_v3_small import OFAMobileNetV3Small
from supernets.ofa_proxyless import OFAProxyless
from supernets.ofa_resnet50 import OFAResNet50

KINDS = [OFAMobileNetV3, OFAProxyless, OFAResNet50, OFAMobileNetV3Small, AttentiveNAS]
SHAPE, CLASSES = (3, 40, 40), 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_resolution_is_a_size_to_which_the_network_itself_resizes(kind):
    plugin = kind(resolutions=(40, 24))
    space = plugin.space(SHAPE, CLASSES)
    assert space.resolutions == (24, 40)
    assert (space.smallest.resolution, space.largest.resolution) == (24, 40)
    torch.manual_seed(0)
    supernet = plugin.supernet(SHAPE, CLASSES).eval()
    images = torch.randn(2, *SHAPE)
    small = F.interpolate(images, (24, 24), mode="bilinear", antialias=True)
    resizing, plain = supernet.extract(space.smallest), supernet.extract(replace(space.smallest, resolution=40))
    with torch.no_grad():
        torch.testing.assert_close(resizing(images), plain_at(plain, small))
        torch.testing.assert_close(supernet(images, space.smallest), resizing(images), rtol=1e-4, atol=1e-5)
        assert torch.equal(resizing(small), resizing(images))


def plain_at(network, images):
    network.resize.size = None
    return network(images)


@pytest.mark.parametrize("kind", KINDS)
def test_a_resolution_costs_what_images_of_that_size_cost(kind):
    space = kind(resolutions=(24, 40)).space(SHAPE, CLASSES)
    smaller = kind().space((3, 24, 24), CLASSES)
    assert space.cost(space.smallest) == smaller.cost(smaller.smallest)


@pytest.mark.parametrize("kind", KINDS)
def test_resolutions_that_the_images_do_not_have_are_refused(kind):
    with pytest.raises(ValueError, match=r"resolutions must be at most the size of the images \(40\), got 48"):
        kind(resolutions=(24, 48)).space(SHAPE, CLASSES)
    with pytest.raises(ValueError, match="resolutions: images must be square, got 40 x 32"):
        kind(resolutions=(24,)).space((3, 40, 32), CLASSES)
    with pytest.raises(ValueError, match="resolutions must be positive and different"):
        kind(resolutions=(0,))


@pytest.mark.parametrize(
    ("kind", "name"),
    [(OFAMobileNetV3, "ofa_mobilenet_v3"), (OFAProxyless, "ofa_proxyless"), (OFAResNet50, "ofa_resnet50")],
)
def test_published_spaces_are_for_color(kind, name):
    with pytest.raises(ValueError, match=rf"^{name}: images must have 3 channels \(color\), got 1$"):
        kind().space((1, 32, 32), CLASSES)


@pytest.mark.parametrize(
    ("kind", "settings", "problem"),
    [
        (OFAMobileNetV3, {"width_multiplier": 0.0}, "width_multiplier must be above 0"),
        (OFAProxyless, {"dropout": -0.1}, "dropout must be"),
        (OFAResNet50, {"widths": (0.05, 1.0)}, "widths must be at least 0.1"),
        (OFAResNet50, {"expansions": ()}, "expansions must be positive"),
        (OFAResNet50, {"depths": (2, 1)}, "depths must be"),
    ],
)
def test_impossible_settings_are_refused(kind, settings, problem):
    with pytest.raises(ValueError, match=problem):
        kind(**settings)


def modules_after(lines):
    program = f"import sys\n{lines}\nprint(*sorted(sys.modules), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


@pytest.mark.slow
def test_of_ofa_only_networks_are_imported_and_only_when_a_supernet_is_built():
    listed = modules_after("from regnas.supernet import SUPERNETS\nassert len(SUPERNETS.usable()) > 5")
    assert not {name for name in listed if name.split(".")[0] in ("ofa", "torchvision")}
    built = modules_after(
        "from supernets.ofa_mobilenet_v3_small import OFAMobileNetV3Small\n"
        "OFAMobileNetV3Small().supernet((1, 8, 8), 2)\n"
        "from supernets.ofa_resnet50 import OFAResNet50\nOFAResNet50(widths=(0.1,)).supernet((3, 8, 8), 2)"
    )
    assert "ofa.imagenet_classification.elastic_nn.networks" in built
    unwanted = ("ofa.model_zoo", "ofa.tutorial", "ofa.imagenet_classification.run_manager", "ofa.nas", "gdown")
    assert not {name for name in built if name.startswith(unwanted)}
