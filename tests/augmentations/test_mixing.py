from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torchvision.transforms import v2

from regnas.augmentations import choose_mixing
from tests.augmentations.images import augmentation, photographs


def test_mixup_is_that_of_torchvision():
    images, mixup = photographs(8) / 255, augmentation("mixup", alpha=0.4)
    mixed, share = mixup.mix(images, images.roll(1, 0), np.random.default_rng(5))
    assert share == np.random.default_rng(5).beta(0.4, 0.4)
    labels = torch.arange(8)
    expected = v2.MixUp(num_classes=8).transform(images, {"lam": share, "labels": labels, "batch_size": 8})
    torch.testing.assert_close(mixed, expected)


def test_cutmix_is_that_of_torchvision():
    images, cutmix = photographs(8) / 255, augmentation("cutmix")
    for seed in range(20):
        mixed, share = cutmix.mix(images, images.roll(1, 0), np.random.default_rng(seed))
        random = np.random.default_rng(seed)
        half = 0.5 * math.sqrt(1 - random.beta(1.0, 1.0))
        y, x = int(random.integers(20)), int(random.integers(24))
        tall, wide = int(half * 20), int(half * 24)
        box = max(0, x - wide), max(0, y - tall), min(24, x + wide), min(20, y + tall)
        assert share == pytest.approx(1 - (box[2] - box[0]) * (box[3] - box[1]) / 480)
        params = {"box": box, "lam_adjusted": share, "labels": torch.arange(8), "batch_size": 8}
        assert torch.equal(mixed, v2.CutMix(num_classes=8).transform(images, params))
        from_partner = (mixed == images.roll(1, 0)).all(1).float().mean()
        assert from_partner == pytest.approx(1 - share, abs=0.02)


@pytest.mark.parametrize("name", ["mixup", "cutmix"])
def test_every_process_mixes_its_share_as_a_single_one_would(name):
    images, mixing = photographs(8) / 255, augmentation(name)
    partners = images.roll(1, 0)
    whole, share = mixing.mix(images, partners, np.random.default_rng(1))
    own, own_share = mixing.mix(images[1::2], partners[1::2], np.random.default_rng(1))
    assert torch.equal(own, whole[1::2])
    assert own_share == share


def test_one_mixing_is_chosen_per_batch_and_applied_with_its_probability():
    mixup, cutmix = augmentation("mixup", probability=0.5), augmentation("cutmix")
    drawn = [choose_mixing((mixup, cutmix), np.random.default_rng(seed)) for seed in range(1000)]
    assert drawn.count(cutmix) == pytest.approx(500, abs=65)
    assert drawn.count(mixup) == pytest.approx(250, abs=55)
    assert drawn.count(None) == pytest.approx(250, abs=55)
    assert choose_mixing((), np.random.default_rng(0)) is None
