from __future__ import annotations

import math

import pytest

from regnas.augmentations.cutmix import CutMix
from regnas.augmentations.mixup import Mixup
from regnas.augmentations.shift import Shift
from regnas.errors import ConfigurationError
from regnas.losses import CrossEntropy
from regnas.training import Recipe
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


@pytest.mark.parametrize("value", [-0.1, 1.0, math.nan])
def test_an_impossible_label_smoothing_is_refused(value):
    with pytest.raises(ValueError, match="label_smoothing must be"):
        Recipe(label_smoothing=value)


def test_the_label_loss_has_the_smoothing_of_the_recipe():
    assert Recipe(label_smoothing=0.1).label_loss == CrossEntropy(0.1)


def test_mixed_images_are_refused_for_a_part_that_needs_single_labels():
    recipe = Recipe(augmentations=(Shift(1), Mixup(), CutMix()))
    recipe.check_labels("")
    Recipe(augmentations=(Shift(1),)).check_labels("flip_hinge")
    with pytest.raises(ConfigurationError, match=r"fine_tuning\.augmentations .* flip_hinge .*got mixup and cutmix"):
        recipe.check_labels("flip_hinge", "fine_tuning")
