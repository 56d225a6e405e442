from __future__ import annotations

import numpy as np
import pytest
import torch
from torchvision.transforms import v2

from regnas.augmentations.color_jitter import CHANGES, factor_of
from regnas.augmentations.operations import NAMES, OPERATIONS, operate
from regnas.augmentations.rand_augment import RandAugment
from regnas.augmentations.trivial_augment import BINS, WIDE
from tests.augmentations.images import augmentation, draws, photographs

THEIR_NAMES = (
    "Identity ShearX ShearY TranslateX TranslateY Rotate Brightness Color Contrast Sharpness Posterize Solarize "
    "AutoContrast Equalize"
)
OPERATION_NAMES = dict(zip(NAMES, THEIR_NAMES.split(), strict=True))


def test_colors_are_changed_in_the_drawn_order_by_the_drawn_factors():
    images = photographs(12)
    keys = {"brightness": 0.4, "contrast": 0.3, "saturation": 0.5, "hue": 0.2}
    jitter, reference = augmentation("color_jitter", **keys), v2.ColorJitter(**keys)
    uniform = draws(12).uniform(8)
    expected = []
    for image, row in zip(images, uniform, strict=True):
        factors = {
            f"{name}_factor": factor_of(name, keys[name], float(number))
            for name, number in zip(CHANGES, row[4:], strict=True)
        }
        expected.append(reference.transform(image, {"fn_idx": torch.from_numpy(row[:4].argsort()), **factors}))
    assert torch.equal(jitter(images, draws(12)), torch.stack(expected))


def test_factors_are_those_of_torchvision_and_what_is_0_does_not_change():
    assert [factor_of("contrast", 1.5, number) for number in (0.0, 0.5, 1.0)] == [0.0, 1.25, 2.5]
    assert [factor_of("hue", 0.2, number) for number in (0.0, 0.5, 1.0)] == pytest.approx([-0.2, 0.0, 0.2])
    gray = photographs(4, 1)
    brighter = augmentation("color_jitter", brightness=0.5)(gray, draws(4))
    ratio = (brighter.float() / gray.clamp(min=1)).flatten(1).median(1).values
    assert ((ratio > 0.49) & (ratio < 1.51)).all()
    assert len(set(ratio.tolist())) == 4


@pytest.mark.parametrize("reference", [v2.TrivialAugmentWide(), v2.RandAugment()], ids=lambda each: type(each).__name__)
def test_every_operation_at_every_magnitude_is_that_of_torchvision(reference):
    image = photographs(1, 3, 20, 24)[0]
    rand = isinstance(reference, v2.RandAugment)
    ranges = recorded_ranges(20, 24) if rand else WIDE
    for name, theirs in OPERATION_NAMES.items():
        magnitudes, signed = reference._AUGMENTATION_SPACE[theirs]
        values = magnitudes(BINS, 20, 24)
        assert signed == OPERATIONS[name].signed
        for place in (0, 9, 17, 30):
            own = ranges.magnitude(name, place / (BINS - 1))
            if values is not None:
                assert own == pytest.approx(float(values[place]), rel=1e-6)
            for sign in (1, -1) if signed else (1,):
                wanted = reference._apply_image_or_video_transform(
                    image, theirs, sign * own, interpolation=v2.InterpolationMode.NEAREST, fill={}
                )
                choice = (NAMES.index(name) + 0.5) / len(NAMES)
                found = operate(image, choice, place / (BINS - 1), 0.2 if sign < 0 else 0.7, ranges)
                assert torch.equal(found, wanted), (name, place, sign)


def recorded_ranges(height, width):
    """Return the ranges that RandAugment uses on images of a size."""
    found = []

    class Watched(RandAugment):
        def _changed(self, image, numbers, ranges):
            found.append(ranges)
            return image

    Watched()(photographs(1, 3, height, width), draws(1))
    return found[0]


def test_trivial_augment_uses_every_operation_equally_often_and_rand_augment_several_in_a_row():
    image = photographs(1, 3, 8, 8)
    numbers = draws(2800).uniform(3)
    counts = np.bincount((numbers[:, 0] * len(NAMES)).astype(int), minlength=14)
    assert abs(counts - 200).max() < 60
    trivial = augmentation("trivial_augment")(image.expand(30, -1, -1, -1), draws(30))
    for row, found in zip(draws(30).uniform(3).tolist(), trivial, strict=True):
        assert torch.equal(found, operate(image[0], row[0], int(row[1] * BINS) / 30, row[2], WIDE))
    twice = RandAugment(operations=2, magnitude=9)(image, draws(1))[0]
    first, second = draws(1).uniform(4).reshape(2, 2).tolist()
    ranges = recorded_ranges(8, 8)
    expected = operate(operate(image[0], first[0], 0.3, first[1], ranges), second[0], 0.3, second[1], ranges)
    assert torch.equal(twice, expected)
