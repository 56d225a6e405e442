from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from regnas.training import Augmentation
from regnas.training.cropping import random_boxes, resized_crops

HEIGHT, WIDTH = 40, 48


def photographs(count):
    random = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (count, 3, HEIGHT, WIDTH), dtype=torch.uint8, generator=random)


def test_a_crop_is_the_box_resized_on_its_own():
    """Against torch's own resizing of the cut-out, which knows nothing of the pixels around it."""
    images = photographs(24)
    boxes = random_boxes(np.random.default_rng(1), 24, HEIGHT, WIDTH)
    crops = resized_crops(images, boxes)
    assert crops.dtype == torch.uint8
    for image, crop, (top, left, height, width) in zip(images, crops, boxes.T.tolist(), strict=True):
        cut = image[None, :, top : top + height, left : left + width].float()
        expected = F.interpolate(cut, (HEIGHT, WIDTH), mode="bilinear", align_corners=False)[0]
        assert (crop.float() - expected).abs().max() <= 0.5 + 1e-2  # rounding to bytes


def test_the_whole_image_as_a_box_changes_nothing():
    images = photographs(3)
    boxes = np.array([[0, 0, HEIGHT, WIDTH]] * 3).T
    assert torch.equal(resized_crops(images, boxes), images)


def test_boxes_lie_inside_and_have_the_published_areas_and_ratios():
    size = 224
    top, left, height, width = random_boxes(np.random.default_rng(0), 20_000, size, size)
    assert min(top.min(), left.min()) >= 0
    assert (top + height).max() <= size
    assert (left + width).max() <= size
    area, ratio = height * width / size**2, width / height
    assert area.min() == pytest.approx(0.08, abs=0.005)
    assert area.max() == pytest.approx(1.0, abs=0.02)
    assert ratio.min() == pytest.approx(3 / 4, abs=0.02)
    assert ratio.max() == pytest.approx(4 / 3, abs=0.03)
    # Areas are uniform as far as every ratio fits: a box of the area a fits at all ratios up to a = 3 / 4.
    counts, _ = np.histogram(area, bins=np.linspace(0.1, 0.7, 7))
    assert counts.max() / counts.min() < 1.12
    # The ratio is as often above 1 as below, and boxes are placed everywhere.
    assert abs(np.log(ratio).mean()) < 0.01
    free = size - height + 1
    assert (top / free)[free > 20].mean() == pytest.approx(0.5, abs=0.03)


def test_an_image_in_which_no_box_fits_is_taken_whole():
    boxes = random_boxes(np.random.default_rng(0), 50, 2, 400)
    assert np.array_equal(boxes, np.array([[0, 0, 2, 400]] * 50).T)


def test_every_process_crops_its_share_as_a_single_one_would():
    images = photographs(8)
    augmentation = Augmentation(crop="random_resized", flip=True, shift=2)
    whole = augmentation(images, np.random.default_rng(5))
    assert not torch.equal(whole, images)

    class Second:
        count, share = 2, slice(1, None, 2)

    own = augmentation(images[1::2], np.random.default_rng(5), Second())
    assert torch.equal(own, whole[1::2])
