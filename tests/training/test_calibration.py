"""Batch-norm statistics are those of the images, each counted once, however the images are batched."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torch import nn

from regnas.data import ImageFolder, Preprocessing
from regnas.networks import SmallResNet
from regnas.training import Prepared, batches_of, calibrate, calibration_count, settle


def images_of(count: int, side: int = 4, channels: int = 2) -> torch.Tensor:
    return torch.randn(count, channels, side, side, generator=torch.Generator().manual_seed(count)) * 3 + 1


def small_network(side: int = 4) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return SmallResNet((3, 5), patch=1).build((2, side, side), 4)


def statistics(network: nn.Module) -> dict[str, torch.Tensor]:
    return {name: tensor for name, tensor in network.state_dict().items() if "running" in name}


def in_one_pass(network: nn.Module, images: torch.Tensor) -> dict[str, torch.Tensor]:
    """The same by torch alone: one training-mode pass over all images, its variance without the correction."""
    norms = {name: module for name, module in network.named_modules() if isinstance(module, nn.BatchNorm2d)}
    inputs = {}
    for name, norm in norms.items():
        norm.register_forward_pre_hook(lambda _, x, name=name: inputs.update({name: x[0]}))
    with torch.no_grad():
        network.train()(images)
    found = {}
    for name, x in inputs.items():
        found[f"{name}.running_mean"] = x.double().mean(dim=(0, 2, 3)).float()
        found[f"{name}.running_var"] = x.double().var(dim=(0, 2, 3), correction=0).float()
    return found


def assert_same(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-4, atol=1e-5, msg=name)


@settings(max_examples=60, deadline=None)
@given(count=st.integers(1, 2000), data=st.data())
def test_any_split_into_batches_gives_the_statistics_of_one_pass(count, data):
    size = data.draw(st.integers(max(1, count // 40), count + 3))
    images = images_of(count)
    expected = in_one_pass(small_network(), images)
    assert_same(statistics(calibrate(small_network(), images, size)), expected)
    assert_same(statistics(calibrate(small_network(), images)), expected)


@pytest.mark.parametrize("count", [513, 257, 257 * 2 + 1, 520])
def test_a_partial_last_batch_counts_for_its_own_images_alone(count):
    images = images_of(count)
    assert_same(statistics(calibrate(small_network(), images, 256)), in_one_pass(small_network(), images))


@given(count=st.integers(1, 40), size=st.integers(1, 12))
@settings(max_examples=30, deadline=None)
def test_maps_of_one_pixel_and_single_images_have_statistics_too(count, size):
    images = images_of(count, side=1)
    network = nn.Sequential(nn.BatchNorm2d(2))
    calibrate(network, images, size)
    torch.testing.assert_close(network[0].running_mean, images.mean(dim=(0, 2, 3)))
    torch.testing.assert_close(network[0].running_var, images.var(dim=(0, 2, 3), correction=0), rtol=1e-4, atol=1e-6)


def test_images_that_are_streamed_from_files_give_the_statistics_of_the_same_images_in_memory(tmp_path: Path):
    random = np.random.default_rng(0)
    for part, count in (("train", 23), ("test", 2)):
        for label in ("a", "b"):
            (tmp_path / part / label).mkdir(parents=True)
            for index in range(count):
                pixels = random.integers(0, 256, (8, 8, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(tmp_path / part / label / f"{index}.png")
    train = ImageFolder(str(tmp_path), size=8, keep="search", search_images=4).load().train
    preprocessing = Preprocessing((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))
    assert not isinstance(train.images, torch.Tensor)

    def network() -> nn.Module:
        torch.manual_seed(0)
        return SmallResNet((3, 5), patch=1).build((3, 8, 8), 2)

    streamed = calibrate(network(), Prepared(train.images, preprocessing, torch.device("cpu")), 5)
    held = preprocessing(train.images[:])
    assert_same(statistics(streamed), in_one_pass(network(), held))


def test_a_network_without_parts_is_run_from_its_images():
    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = small_network()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x)

    images = images_of(50)
    expected = {f"inner.{name}": value for name, value in in_one_pass(small_network(), images).items()}
    assert_same(statistics(calibrate(Whole(), images, 7)), expected)


def test_what_was_there_before_does_not_matter_and_nothing_else_changes():
    images = images_of(64)
    fresh, used = small_network(), small_network()
    used.train()(images * 100)
    weights = [parameter.clone() for parameter in used.parameters()]
    calibrate(fresh, images)
    calibrate(used, images)
    for name, value in statistics(fresh).items():
        assert torch.equal(value, statistics(used)[name])
    assert all(torch.equal(before, after) for before, after in zip(weights, used.parameters(), strict=True))
    assert {module.momentum for module in used.modules() if isinstance(module, nn.BatchNorm2d)} == {0.1}
    assert not any(module.training for module in used.modules())


def test_dropout_does_not_disturb_the_statistics():
    images = images_of(64)
    dropping = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm2d(2)).train()
    calibrate(dropping, images, 16)
    torch.testing.assert_close(dropping[1].running_mean, images.mean(dim=(0, 2, 3)))


@pytest.mark.parametrize("size", [None, 8])
def test_an_exception_leaves_no_hook_and_no_mode_behind(size):
    class Breaking(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if len(x) > 1:  # not yet when sizes are looked at
                raise RuntimeError("broken")
            return x

    network = nn.Sequential(nn.BatchNorm2d(2), nn.BatchNorm2d(2).eval(), Breaking(), nn.BatchNorm2d(2)).train()
    network[1].eval()
    modes = [module.training for module in network.modules()]
    with pytest.raises(RuntimeError, match="broken"):
        calibrate(network, images_of(20), size)
    assert [module.training for module in network.modules()] == modes
    assert all(not module._forward_pre_hooks and not module._forward_hooks for module in network.modules())


@pytest.mark.parametrize(
    ("wanted", "side", "count"),
    [(None, 16, 50_000), (None, 32, 50_000), (None, 64, 32_768), (None, 224, 2_674), (7, 224, 7), (10**6, 224, 10**6)],
)
def test_what_a_configuration_leaves_open_is_as_many_images_as_the_memory_bears(wanted, side, count):
    assert calibration_count(wanted, side, side) == count


def test_a_norm_that_runs_twice_is_settled_by_what_it_sees_first():
    norm = nn.BatchNorm2d(2)
    network = nn.Sequential(norm, norm).eval()
    images = images_of(30)
    settle(network, batches_of(images, 30))
    once = (norm.running_mean.clone(), norm.running_var.clone())
    settle(network, batches_of(images, 7))
    torch.testing.assert_close((norm.running_mean, norm.running_var), once)
    torch.testing.assert_close(norm.running_mean, images.mean(dim=(0, 2, 3)))
