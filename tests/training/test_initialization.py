"""What networks compute right after each initialization, and the networks that have no such part."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regnas.components.builder import Builder
from regnas.data import Preprocessing, Split
from regnas.errors import ConfigurationError
from regnas.networks import NETWORKS, Normalized, SmallResNet, residual_norms
from regnas.training import RECIPE_PARTS, Recipe, Trainer
from regnas.training.initialization import IdentityConvolutions, WhitenedStem, ZeroResidualNorms, whitening_filters
from supernets.elastic_resnet import ElasticResNet
from supernets.layers import InvertedBottleneck


def split(channels=3, samples=40, size=8):
    """Smooth images, so that neighboring pixels and channels are correlated."""
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(samples, channels, size // 2, size // 2, generator=generator)
    smooth = F.interpolate(coarse, size=size, mode="bilinear") + 0.3 * coarse.mean(dim=(1, 2, 3), keepdim=True)
    noisy = 150 * smooth + 20 * torch.rand(samples, 1, size, size, generator=generator)
    ids = np.array([f"s{index}" for index in range(samples)])
    return Split("train", noisy.to(torch.uint8), torch.arange(samples) % 3, ids, np.arange(samples))


def trainer(*initialization):
    data = split()
    recipe = Recipe(epochs=1, initialization=initialization)
    return Trainer(recipe, data, Preprocessing.fitted_to(data.images), torch.device("cpu"))


def built(patch=1, widths=(16, 16), seed=0, blocks=1):
    torch.manual_seed(seed)
    return SmallResNet(widths, patch=patch, blocks=blocks).build((3, 8, 8), 3)


def elastic():
    torch.manual_seed(0)
    plugin = ElasticResNet(widths=((8, 16), (16, 24)), depths=(1, 2), stem_width=8)
    return plugin, plugin.supernet((3, 8, 8), 3)


# The whitened stem


@pytest.mark.parametrize(("patch", "width"), [(1, 60), (1, 16), (2, 16)])
def test_patches_that_pass_the_whitened_stem_have_the_identity_as_covariance(patch, width):
    run, network = trainer(WhitenedStem(epsilon=1e-9)), built(patch, (width,))
    before = network.stem.weight.detach().clone()
    run.initialize(network)
    images = run.preprocessing(run.split.images)
    passed = F.conv2d(network.patch(images).double(), network.stem.weight.double())  # without the edge
    half = min(27 * patch**2, width // 2)
    outputs = passed.transpose(0, 1).flatten(1)  # [width, patches]
    torch.testing.assert_close(torch.cov(outputs[:half], correction=0), torch.eye(half).double(), rtol=0, atol=2e-3)
    assert torch.equal(network.stem.weight[half : 2 * half], -network.stem.weight[:half])
    assert torch.equal(network.stem.weight[2 * half :], before[2 * half :])  # 60 - 2 * 27 channels are left over


def test_the_filters_are_the_eigenvectors_with_the_largest_eigenvalues_and_a_fixed_sign():
    """Of a covariance with known eigenvectors; numpy finds them by its own library."""
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    values = np.array([9.0, 4.0, 1.0, 0.25])
    filters = whitening_filters(torch.from_numpy(basis @ np.diag(values) @ basis.T), 0.0).numpy()
    for row, vector, value in zip(filters, basis.T, values, strict=True):
        sign = np.sign(vector[np.abs(vector).argmax()])
        np.testing.assert_allclose(row, sign * vector / np.sqrt(value), rtol=1e-9)


def test_an_epsilon_bounds_the_filters_of_patches_that_do_not_vary():
    assert whitening_filters(torch.zeros(3, 3).double(), 0.25).abs().max() == 2


def test_initializing_again_gives_the_same_bits_and_leaves_the_network_in_its_mode():
    run, networks = (
        trainer(IdentityConvolutions(), ZeroResidualNorms(), WhitenedStem()),
        [built().train(), built().train()],
    )
    for network in networks:
        run.initialize(network)
    first, second = (network.state_dict() for network in networks)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert first["stem_norm.num_batches_tracked"] == 0
    assert all(module.training for module in networks[0].modules())
    assert not networks[0].stem._forward_pre_hooks


def test_a_network_with_its_own_normalization_is_whitened_as_it_reads_the_images():
    run, network = trainer(WhitenedStem(1e-9)), built(widths=(16,))
    own = Preprocessing((0.1, 0.5, 0.9), (0.1, 0.3, 2.0))
    Normalized(SmallResNet((16,)), own).reading(network, run.preprocessing)
    run.initialize(network)
    outputs = F.conv2d(own(run.split.images).double(), network.stem.weight.double()).transpose(0, 1).flatten(1)
    torch.testing.assert_close(torch.cov(outputs[:8], correction=0), torch.eye(8).double(), rtol=0, atol=2e-3)


# Identity convolutions


def test_convolutions_pass_their_inputs_and_the_stem_and_further_outputs_stay_random():
    run, network = trainer(IdentityConvolutions()), built(widths=(8, 12))
    before = copy.deepcopy(network)
    run.initialize(network)
    images = torch.randn(2, 8, 6, 6)
    wide, old = network.stages[1][0], before.stages[1][0]
    torch.testing.assert_close(wide.conv1(images)[:, :8], images[:, :, ::2, ::2])  # a stride of 2
    assert torch.equal(wide.conv1.weight[8:], old.conv1.weight[8:])
    assert torch.equal(network.stem.weight, before.stem.weight)
    middle = torch.randn(2, 12, 3, 3)
    torch.testing.assert_close(wide.conv2(middle), middle)


# Zero residual norms


@pytest.mark.parametrize("kind", ["small_resnet", "torchvision"])
def test_a_residual_network_starts_as_its_shortcuts(kind):
    """Whatever the branches compute, the output is the same."""
    torch.manual_seed(0)
    plan = SmallResNet((8, 16), blocks=2) if kind == "small_resnet" else NETWORKS["torchvision"]("resnet18")
    network = plan.build((3, 32, 32), 3)
    trainer(ZeroResidualNorms()).initialize(network)
    other, images = copy.deepcopy(network), torch.randn(2, 3, 32, 32)
    changed = 0
    for name, parameter in other.named_parameters():
        if "conv" in name and ("stages" in name or "layer" in name):
            nn.init.normal_(parameter)
            changed += 1
    assert changed == 2 * len(residual_norms(network)) > 0
    torch.testing.assert_close(other(images), network(images))


def test_a_supernet_is_initialized_and_its_sub_networks_with_it():
    plugin, supernet = elastic()
    trainer(ZeroResidualNorms(), IdentityConvolutions(), WhitenedStem()).initialize(supernet)
    small = supernet.extract(plugin.space((3, 8, 8), 3).smallest)
    assert residual_norms(small)
    assert all(not norm.weight.any() for norm in residual_norms(small))
    assert torch.equal(small.stem.weight[4:], -small.stem.weight[:4])
    images = torch.randn(1, small.stages[0][0].conv1.in_channels, 4, 4)
    passed = small.stages[0][0].conv1(images)
    torch.testing.assert_close(passed, images[:, : passed.shape[1]])


def test_only_branches_with_a_shortcut_end_with_a_residual_norm():
    def block(shortcut):
        return InvertedBottleneck(8, 16, 8, 3, 1, "relu", False, shortcut)

    found = nn.Sequential(block("none"), block("identity"))
    assert residual_norms(found) == [found[1].project.norm]


# Refused


@pytest.mark.parametrize(
    ("initialization", "problem"),
    [
        (
            IdentityConvolutions(),
            'training: initialization "identity_convolutions" must find a convolution with an odd',
        ),
        (
            ZeroResidualNorms(),
            'training: initialization "zero_residual_norms" must find residual branches .* Remove it',
        ),
        (WhitenedStem(), 'training: initialization "whitened_stem" must find the stem of .*got Sequential. Remove it'),
    ],
    ids=str,
)
def test_networks_without_the_part_are_refused(initialization, problem):
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, 3, groups=4), nn.Flatten(), nn.Linear(64, 3))
    with pytest.raises(ConfigurationError, match=problem):
        trainer(initialization).initialize(network)


def test_recipes_name_initializations_in_a_list():
    builder = Builder(RECIPE_PARTS)
    table = {"initialization": ["zero_residual_norms", {"name": "whitened_stem", "epsilon": 0.1}]}
    recipe = builder.record(Recipe, table, "training")
    assert recipe.initialization == (ZeroResidualNorms(), WhitenedStem(0.1))
    builder.record(Recipe, {"initialization": [{"name": "whitened_stem", "epsilon": 0.0}]}, "training")
    assert builder.problems == ["training.initialization[0]: epsilon must be above 0, got 0"]
