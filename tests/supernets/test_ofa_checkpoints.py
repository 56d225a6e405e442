from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regnas.errors import ArtifactError
from regnas.runtime.tensors import load_into
from regnas.supernet import SUPERNETS, ImportsCheckpoints, build_plugin
from supernets.ofa_mobilenet_v3 import OFAMobileNetV3
from supernets.ofa_proxyless import OFAProxyless
from supernets.ofa_resnet50 import OFAResNet50

NARROW = {
    "mobilenet_v3": OFAMobileNetV3(width_multiplier=0.25),
    "proxyless": OFAProxyless(width_multiplier=0.25),
    "resnet50": OFAResNet50(widths=(0.1, 0.2)),
}


def earlier_name(name):
    """As files of the first version have it."""
    head, separator, rest = name.partition(".conv.") if name.startswith("blocks.") else (name, "", "")
    if separator and head.count(".") == 1:
        name = f"{head}.mobile_inverted_conv.{rest}"
    return name


def static_name(name):
    """As files of static layers have it: one level less."""
    name = name.replace(".bn.bn.", ".bn.").replace(".linear.linear.", ".linear.")
    return name.replace(".conv.conv.weight", ".conv.weight")


@pytest.fixture(params=NARROW, scope="module")
def plugin(request):
    return NARROW[request.param]


@pytest.fixture(scope="module")
def supernet(plugin):
    torch.manual_seed(0)
    return plugin.supernet((3, 32, 32), 5)


@pytest.fixture(scope="module")
def foreign(supernet):
    return {name.removeprefix("network."): tensor for name, tensor in supernet.state_dict().items()}


@pytest.mark.parametrize(
    "naming",
    [
        str,
        earlier_name,
        static_name,
        lambda name: static_name(earlier_name(name)),
        lambda name: f"module.{name}",
    ],
    ids=["today", "earlier", "static", "both", "in parallel"],
)
def test_every_layout_maps_to_the_keys_of_the_supernet(plugin, supernet, foreign, naming):
    renamed = plugin.rename_tensors({naming(name): tensor for name, tensor in foreign.items()})
    own = supernet.state_dict()
    assert renamed.keys() == own.keys()
    assert all(torch.equal(tensor, own[name]) for name, tensor in renamed.items())


def test_earlier_names_are_others():
    assert earlier_name("blocks.3.conv.depth_conv.conv.conv.weight") == (
        "blocks.3.mobile_inverted_conv.depth_conv.conv.conv.weight"
    )
    assert static_name("blocks.3.conv.point_linear.bn.bn.bias") == "blocks.3.conv.point_linear.bn.bias"


def test_unknown_and_missing_tensors_are_reported_in_one_line(plugin, supernet, foreign):
    (dropped, *_), extra = [name for name in foreign if name.endswith("weight")], torch.zeros(1)
    damaged = {name: tensor for name, tensor in foreign.items() if name != dropped} | {"decoder.weight": extra}
    with pytest.raises(ArtifactError, match=r"decoder\.weight does not belong to this network") as caught:
        load_into(supernet, plugin.rename_tensors(damaged), Path("some.pth"))
    assert f"{dropped} is missing" in str(caught.value)


def test_counters_that_early_files_lack_start_at_zero(plugin, supernet, foreign):
    without = {name: tensor for name, tensor in foreign.items() if not name.endswith("num_batches_tracked")}
    renamed = plugin.rename_tensors(without)
    assert renamed.keys() == supernet.state_dict().keys()
    assert all(tensor == 0 for name, tensor in renamed.items() if name.endswith("num_batches_tracked"))


def test_published_supernets_can_be_built_from_their_tables():
    importing = [kind() for kind in SUPERNETS.values() if hasattr(kind, "published")]
    published = {each.name: each for plugin in importing for each in plugin.published}
    assert set(published) == {
        "ofa_mbv3_d234_e346_k357_w1.0",
        "ofa_mbv3_d234_e346_k357_w1.2",
        "ofa_proxyless_d234_e346_k357_w1.3",
        "ofa_resnet50",
        "attentive_nas_pretrained",
    }
    for each in published.values():
        plugin = build_plugin(each.supernet)
        assert isinstance(plugin, ImportsCheckpoints)
        assert each in plugin.published
        assert plugin.space(each.input_shape, each.classes).macs_range[0] > 50e6
