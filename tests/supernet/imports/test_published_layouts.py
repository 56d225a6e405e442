"""Checkpoints with the layouts of the published ones, made on the spot by the classes that wrote those."""

from __future__ import annotations

import pytest
import torch
from ofa.imagenet_classification.elastic_nn.networks import OFAMobileNetV3, OFAProxylessNASNets, OFAResNets

from regnas.errors import ArtifactError
from regnas.runtime.tensors import load_into
from regnas.supernet import build_plugin
from regnas.supernet.imports import import_supernet

pytestmark = pytest.mark.slow

MOBILE = {"dropout_rate": 0, "ks_list": [3, 5, 7], "expand_ratio_list": [3, 4, 6], "depth_list": [2, 3, 4]}
RESNET = {"depth_list": [0, 1, 2], "expand_ratio_list": [0.2, 0.25, 0.35], "width_mult_list": [0.65, 0.8, 1.0]}


def as_today(name):
    return name


def as_before(name):
    """Earlier versions of ofa have other names for the convolutions of a block."""
    return name.replace(".conv.", ".mobile_inverted_conv.", 1) if name.startswith("blocks.") else name


def in_parallel(name):
    return f"module.{name}"


def spread(network):
    """With statistics of batch norm that show where they end up."""
    generator = torch.Generator().manual_seed(0)
    for name, tensor in network.state_dict().items():
        if "running" in name:
            tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
    return network.eval()


def save(network, path, layout):
    torch.save({"state_dict": {layout(name): tensor for name, tensor in network.state_dict().items()}}, path)


PUBLISHED = {
    "ofa_mbv3_d234_e346_k357_w1.0": (OFAMobileNetV3, MOBILE | {"width_mult": 1.0}, as_today),
    "ofa_mbv3_d234_e346_k357_w1.2": (OFAMobileNetV3, MOBILE | {"width_mult": 1.2}, as_before),
    "ofa_proxyless_d234_e346_k357_w1.3": (OFAProxylessNASNets, MOBILE | {"width_mult": 1.3}, in_parallel),
    "ofa_resnet50": (OFAResNets, RESNET | {"dropout_rate": 0}, as_today),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_largest_network_answers_as_before_it_was_imported(tmp_path, name):
    build, settings, layout = PUBLISHED[name]
    network = spread(build(**settings))
    original = tmp_path / ("ofa_supernet_resnet50" if name == "ofa_resnet50" else name)
    save(network, original, layout)
    imported, fresh = import_supernet(name, tmp_path)
    assert fresh
    plugin = build_plugin(imported.supernet)
    supernet = plugin.supernet((3, 64, 64), imported.classes)
    load_into(supernet, imported.tensors(), imported.path)
    images = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    network.set_max_net()
    with torch.no_grad():
        expected = network(images)
        found = supernet.eval()(images, plugin.space((3, 64, 64), imported.classes).largest)
    assert expected.std() > 0
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4 * float(expected.abs().max()))


def test_a_supernet_of_ones_own_with_other_classes_is_recognized(tmp_path):
    save(OFAMobileNetV3(**MOBILE, width_mult=1.2, n_classes=10), tmp_path / "mine_w1.2.pth", as_before)
    imported, _ = import_supernet(str(tmp_path / "mine_w1.2.pth"), tmp_path / "store")
    assert imported.name == "mine_w1.2"
    assert (dict(imported.supernet), imported.classes) == ({"name": "ofa_mobilenet_v3", "width_multiplier": 1.2}, 10)


def test_a_supernet_with_other_kernels_is_refused_with_the_nearest(tmp_path):
    save(OFAMobileNetV3(**MOBILE | {"ks_list": [3, 5]}, width_mult=1.0), tmp_path / "mine.pth", as_today)
    with pytest.raises(ArtifactError) as error:
        import_supernet(str(tmp_path / "mine.pth"), tmp_path / "store")
    assert "the nearest is ofa_mbv3_d234_e346_k357_w1.0: network.blocks." in str(error.value)
    assert "7to5_matrix is missing; " in str(error.value)
