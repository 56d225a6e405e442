"""Digits and their corruptions: keyed, tunable, and each doing what its name says."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regnas.data import Digits, Splits
from regnas.data.corruptions import Corruption, blur, contrast, gaussian_noise, occlusion, shift
from regnas.data.digits import originals, to_bytes

SMALL = {"train_variants": 2, "search_variants": 1, "report_variants": 1}
ALL: list[Corruption] = [gaussian_noise, blur, shift, occlusion, contrast]


@cache
def default() -> Splits:
    return Digits(**SMALL).load()


def draws(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def image() -> np.ndarray:
    return draws(7).uniform(0, 1, (16, 16))


def test_originals_are_divided_by_class_and_never_shared() -> None:
    splits = default()
    groups = [set(split.groups.tolist()) for split in splits.all]
    assert set.union(*groups) == set(range(1797))
    assert sum(map(len, groups)) == 1797
    assert [len(each) for each in groups] == pytest.approx([900, 300, 597], abs=8)
    assert splits.input_shape == (1, 16, 16)
    for split in splits.all:
        share = split.targets.bincount(minlength=10) / len(split)
        assert share.min() > 0.09 and share.max() < 0.11


def test_ids_name_the_original_and_the_variant() -> None:
    train = default().train
    assert train.ids[:2].tolist() == [f"digit-{train.groups[0]:04d}-v0", f"digit-{train.groups[0]:04d}-v1"]
    assert train.groups[0] == train.groups[1]


def test_loading_twice_gives_the_same_bytes_and_the_seed_another_set() -> None:
    assert Digits(**SMALL).load().digest == default().digest
    assert Digits(**SMALL, seed=1).load().digest != default().digest


def test_a_variant_does_not_depend_on_how_many_there_are() -> None:
    more = Digits(train_variants=3, search_variants=1, report_variants=1).load().train
    pixels = dict(zip(more.ids.tolist(), more.images, strict=True))
    for name, expected in zip(default().train.ids.tolist(), default().train.images, strict=True):
        assert torch.equal(pixels[name], expected)


def test_severity_0_leaves_the_upscaled_image() -> None:
    report = Digits(severity=0.0, **SMALL).load().report
    images, targets = originals()
    assert torch.equal(report.images, to_bytes(images[report.groups]))
    assert torch.equal(report.targets, torch.from_numpy(targets[report.groups]))


def test_severity_scales_the_damage() -> None:
    images, _ = originals()

    def damage(severity: float) -> float:
        data = Digits(severity=severity)
        return float(np.mean([np.abs(data.corrupt(images[i], i, 0) - images[i]).mean() for i in range(200)]))

    assert 0 == damage(0) < damage(0.3) < damage(1.0) < damage(2.0)


def test_originals_are_upscaled_between_their_pixels() -> None:
    from sklearn.datasets import load_digits

    images, targets = originals()
    small = load_digits().images[0] / 16
    assert targets[0] == 0
    assert images[0, 0, 0] == small[0, 0]
    assert images[0, 4, 4] == pytest.approx(  # a quarter of a pixel up and left of the center of small[2, 2]
        0.75**2 * small[2, 2] + 0.75 * 0.25 * (small[1, 2] + small[2, 1]) + 0.25**2 * small[1, 1]
    )


@pytest.mark.parametrize("wrong", [{"severity": -1.0}, {"severity": float("nan")}, {"train_variants": 0}])
def test_impossible_options_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Digits(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("corruption", ALL)
def test_strength_0_changes_nothing_and_no_corruption_changes_its_input(corruption: Corruption) -> None:
    before = image()
    given_image = before.copy()
    np.testing.assert_allclose(corruption(given_image, 0.0, draws()), before, atol=1e-12)
    corruption(given_image, 0.7, draws())
    assert np.array_equal(given_image, before)


@given(st.sampled_from(ALL), st.floats(0, 5), st.integers(0, 9))
def test_pixels_stay_between_black_and_white(corruption: Corruption, strength: float, seed: int) -> None:
    corrupted = corruption(image(), strength, draws(seed))
    assert corrupted.shape == (16, 16)
    assert corrupted.min() >= 0 and corrupted.max() <= 1


def test_noise_has_the_deviation_asked_for() -> None:
    gray = np.full((200, 200), 0.5)
    noise = gaussian_noise(gray, 0.1, draws()) - gray
    assert noise.std() == pytest.approx(0.1, rel=0.02)
    assert noise.mean() == pytest.approx(0, abs=0.002)


def test_blur_spreads_a_point_evenly_and_keeps_its_light() -> None:
    point = np.zeros((15, 15))
    point[7, 7] = 1
    blurred = blur(point, 1.0, draws())
    assert blurred.sum() == pytest.approx(1, abs=1e-3)
    assert blurred[7, 7] == blurred.max()
    assert blurred[7, 8] / blurred[7, 7] == pytest.approx(np.exp(-0.5), rel=1e-3)
    np.testing.assert_allclose(blurred, blurred.T)
    np.testing.assert_allclose(blurred, blurred[::-1])


class Fixed(np.random.Generator):
    """Draws what the test says, to work a case out by hand."""

    def __init__(self, value: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.value = value

    def uniform(self, *_: object) -> float:  # type: ignore[override]
        return self.value

    def integers(self, *_: object) -> int:  # type: ignore[override]
        return int(self.value)


def test_shift_moves_by_whole_and_by_half_pixels() -> None:
    point = np.zeros((5, 5))
    point[2, 2] = 1
    right = shift(point, 2.0, Fixed(0.0))
    assert right[2, 4] == 1 and right.sum() == 1
    half_down = shift(point, 0.5, Fixed(np.pi / 2))
    np.testing.assert_allclose(half_down[1:4, 2], [0, 0.5, 0.5], atol=1e-12)
    assert shift(point, 3.0, Fixed(0.0)).sum() == 0  # out of the picture


def test_occlusion_blacks_out_one_rectangle() -> None:
    white = np.ones((8, 4))
    expected = white.copy()
    expected[1:5, 1:3] = 0
    assert np.array_equal(occlusion(white, 0.5, Fixed(1)), expected)
    assert occlusion(white, 2.0, draws()).sum() == 0


def test_contrast_pulls_towards_the_mean() -> None:
    np.testing.assert_allclose(contrast(np.array([[0.0, 1.0]]), 0.6, draws()), [[0.3, 0.7]])
    np.testing.assert_allclose(contrast(np.array([[0.0, 1.0]]), 9.0, draws()), [[0.5, 0.5]])
