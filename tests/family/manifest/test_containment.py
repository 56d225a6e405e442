from __future__ import annotations

import hashlib
from random import Random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regnas.errors import ArtifactError
from regnas.family.manifest import containment_proof
from regnas.space import Budget, BudgetSampler
from regnas.supernet import SUPERNETS


def numbers(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1


def test_the_proof_has_the_place_of_each_weight_in_the_larger_network_and_its_digest():
    large = {"conv.weight": numbers(4, 2, 3, 3), "bias": numbers(3), "norm.running_mean": numbers(4)}
    small = {
        "conv.weight": large["conv.weight"][:2, :1].copy(),
        "bias": large["bias"].copy(),
        "norm.running_mean": numbers(2) + 7,
        "norm.num_batches_tracked": np.array(9),
    }
    proof = containment_proof(small, large)
    assert proof == {
        "shared": {
            "bias": {
                "relation": "whole",
                "shape": [3],
                # 1, 2, 3 as little-endian float32, by hand
                "sha256": hashlib.sha256(bytes.fromhex("0000803f0000004000004040")).hexdigest(),
            },
            "conv.weight": {
                "relation": "leading slice",
                "shape": [2, 1, 3, 3],
                "sha256": hashlib.sha256(small["conv.weight"].tobytes()).hexdigest(),
            },
        },
        "not_comparable": {},
        "statistics": 2,
    }


@pytest.mark.parametrize(
    ("small", "problem"),
    [
        ({"other": numbers(2)}, "other is missing in the larger network"),
        ({"w": numbers(5, 2)}, r"w of shape \[5, 2\] does not fit into the larger network's \[4, 3\]"),
        ({"w": numbers(4)}, r"w of shape \[4\] does not fit"),
        ({"w": numbers(4, 3).astype(np.float64)}, "does not fit"),
        ({"w": numbers(4, 3)[:2, 1:].copy()}, "w has other numbers in the larger network"),
    ],
)
def test_weights_that_the_larger_network_does_not_hold_are_refused_with_their_name(small, problem):
    with pytest.raises(ArtifactError, match=problem):
        containment_proof(small, {"w": numbers(4, 3)})


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
def test_one_changed_bit_of_a_shared_weight_is_never_proven(shape, data):
    large = numbers(*(size + 1 for size in shape))
    small = large[tuple(slice(size) for size in shape)].copy()
    containment_proof({"w": small}, {"w": large})
    bits = small.view(np.uint32)
    bits[tuple(data.draw(st.integers(0, size - 1)) for size in shape)] ^= np.uint32(1 << data.draw(st.integers(0, 31)))
    with pytest.raises(ArtifactError, match="other numbers"):
        containment_proof({"w": small}, {"w": large})


def test_the_middle_of_a_larger_kernel_is_compared_and_a_transformed_one_listed_as_not_comparable():
    large = {"w": numbers(2, 1, 5, 5)}
    middle = {"w": large["w"][:1, :, 1:4, 1:4].copy()}
    assert containment_proof(middle, large)["shared"]["w"]["relation"] == "middle of the kernel"
    transformed = containment_proof({"w": middle["w"] * 2}, large)
    assert transformed["shared"] == {}
    assert transformed["not_comparable"] == {"w": "kernel 3 x 3 from 5 x 5 by a transform"}


def test_kernels_that_differ_by_rounding_are_not_comparable_and_never_called_the_same():
    large = {"w": numbers(2, 1, 3, 3)}
    rounded = containment_proof({"w": np.nextafter(large["w"], np.float32(9))}, large)
    assert rounded["shared"] == {}
    assert "up to rounding" in rounded["not_comparable"]["w"]
    with pytest.raises(ArtifactError, match="other numbers"):
        containment_proof({"w": large["w"] * np.float32(1.01)}, large)


SETTINGS = {
    "elastic_resnet": ((1, 16, 16), {}, {"leading slice", "whole"}),
    "ofa_mobilenet_v3_small": ((1, 16, 16), {}, {"leading slice", "whole"}),
    "ofa_resnet50": ((3, 32, 32), {"widths": (0.1, 0.15, 0.2)}, {"leading slice", "whole"}),
    "attentive_nas": ((3, 32, 32), {}, {"leading slice", "whole", "middle of the kernel"}),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_sub_networks_of_every_kind_of_supernet_are_proven_without_it(name):
    """Only what comes from kernel transforms is left out, and only where kernels differ in size."""
    shape, settings, relations = SETTINGS[name]
    plugin = SUPERNETS[name](**settings)
    space = plugin.space(shape, 5)
    torch.manual_seed(0)
    supernet = plugin.supernet(shape, 5).eval()
    with torch.no_grad():
        for parameter in supernet.parameters():  # transforms of kernels start as the identity
            parameter += 0.1 * torch.randn_like(parameter)
    low, high = space.macs_range
    small = BudgetSampler(space, Budget(low, low + (high - low) // 4)).sample(Random(0))
    large = BudgetSampler(space.above(small), Budget((low + high) // 2, high)).sample(Random(1))
    tensors = [
        {key: value.numpy() for key, value in supernet.extract(architecture).state_dict().items()}
        for architecture in (small, large)
    ]
    proof = containment_proof(*tensors)
    assert {entry["relation"] for entry in proof["shared"].values()} == relations
    differing = {
        key for key, tensor in tensors[0].items() if tensor.ndim == 4 and tensor.shape[-1] != tensors[1][key].shape[-1]
    }
    assert set(proof["not_comparable"]) == (differing if name.startswith("ofa") else set())
    parameters = space.cost(small).parameters
    counted = sum(tensors[0][key].size for key in [*proof["shared"], *proof["not_comparable"]])
    assert counted == parameters
