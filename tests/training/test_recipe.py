from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from regnas.training import Augmentation, Recipe
from regnas.training.learning_rates import Cosine, OneCycle, Steps


def test_cosine_starts_at_the_top_and_ends_at_nothing():
    recipe = Recipe(learning_rate=0.4, schedule=Cosine())
    assert recipe.learning_rate_at(0.0) == pytest.approx(0.4)
    assert recipe.learning_rate_at(0.5) == pytest.approx(0.2)
    assert recipe.learning_rate_at(0.25) == pytest.approx(0.2 * (1 + math.cos(math.pi / 4)))
    assert recipe.learning_rate_at(1.0) == pytest.approx(0.0, abs=1e-12)


def test_one_cycle_rises_for_three_tenths_and_falls_for_the_rest():
    recipe = Recipe(learning_rate=0.5, schedule=OneCycle())
    assert recipe.learning_rate_at(0.0) == pytest.approx(0.02)
    assert recipe.learning_rate_at(0.15) == pytest.approx((0.02 + 0.5) / 2)
    assert recipe.learning_rate_at(0.3) == pytest.approx(0.5)
    assert recipe.learning_rate_at(0.65) == pytest.approx(0.25)
    assert recipe.learning_rate_at(1.0) == pytest.approx(0.0, abs=1e-12)


def test_steps_fall_to_a_tenth_after_each_third():
    """As 90 epochs at 0.1 that fall every 30 epochs, also exactly where an epoch begins."""
    recipe = Recipe(learning_rate=0.1, schedule=Steps())
    rates = [recipe.learning_rate_at(epoch / 90) for epoch in range(90)]
    assert rates == pytest.approx([0.1] * 30 + [0.01] * 30 + [0.001] * 30)
    steps = 90 * 1251
    assert recipe.learning_rate_at((30 * 1251 - 1) / steps) == pytest.approx(0.1)
    assert recipe.learning_rate_at(30 * 1251 / steps) == pytest.approx(0.01)


@pytest.mark.parametrize(
    "settings",
    [
        {"epochs": -1},
        {"batch_size": 1},
        {"learning_rate": 0.0},
        {"clip_norm": 0.0},
        {"ema_decay": 1.0},
        {"momentum": 1.0},
    ],
)
def test_impossible_recipes_are_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        Recipe(**settings)


def test_without_augmentation_images_stay_as_they_are():
    images = torch.arange(18, dtype=torch.uint8).reshape(2, 1, 3, 3)
    assert torch.equal(Augmentation()(images, np.random.default_rng(0)), images)


def test_every_sample_is_shifted_on_its_own_within_the_limit_and_zeros_come_in():
    images = torch.randint(1, 255, (64, 2, 5, 5), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    shifted = Augmentation(shift=2)(images, np.random.default_rng(0))
    found = set()
    for before, after in zip(images, shifted, strict=True):
        padded = torch.nn.functional.pad(before, (2, 2, 2, 2))
        matches = [
            (row, column)
            for row in range(5)
            for column in range(5)
            if torch.equal(padded[:, row : row + 5, column : column + 5], after)
        ]
        assert len(matches) == 1
        found.add(matches[0])
    assert len(found) > 15  # of 25 offsets, over 64 samples


def test_about_half_are_mirrored_and_none_is_anything_else():
    images = torch.randint(0, 255, (200, 1, 4, 4), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    flipped = Augmentation(flip=True)(images, np.random.default_rng(0))
    mirrored = [torch.equal(after, before.flip(2)) for before, after in zip(images, flipped, strict=True)]
    kept = [torch.equal(after, before) for before, after in zip(images, flipped, strict=True)]
    assert all(m or k for m, k in zip(mirrored, kept, strict=True))
    assert 70 < sum(mirrored) < 130
