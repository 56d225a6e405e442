from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torchvision.transforms.v2 import functional

from regnas.augmentations.progressive_resize import ProgressiveResize
from regnas.augmentations.random_resized_crop import RandomResizedCrop
from tests.augmentations.images import augmentation, draws, photographs, pipeline


def test_every_image_is_shifted_on_its_own_within_the_limit_and_zeros_come_in():
    images = photographs(64, 2, 6, 5) // 2 + 1
    shifted = augmentation("shift", pixels=2)(images, draws(64))
    found = set()
    for before, after in zip(images, shifted, strict=True):
        padded = torch.nn.functional.pad(before, (2, 2, 2, 2))
        matches = [
            (row, column)
            for row in range(5)
            for column in range(5)
            if torch.equal(padded[:, row : row + 6, column : column + 5], after)
        ]
        assert len(matches) == 1
        found.add(matches[0])
    assert len(found) > 15  # of 25 offsets, over 64 images


def test_the_share_of_mirrored_images_is_the_probability():
    images = photographs(400, 1, 4, 4)
    mirrored = augmentation("horizontal_flip", probability=0.25)(images, draws(400))
    flips = [torch.equal(after, before.flip(2)) for before, after in zip(images, mirrored, strict=True)]
    kept = [torch.equal(after, before) for before, after in zip(images, mirrored, strict=True)]
    assert all(flip != keep for flip, keep in zip(flips, kept, strict=True))
    assert 70 < sum(flips) < 130


def test_alternating_flips_show_both_versions_of_every_image_in_two_epochs():
    images, chain, indices = photographs(200, 1, 4, 4), pipeline(augmentation("alternating_flip")), torch.arange(200)
    epochs = [chain.images(images, indices, epoch) for epoch in range(4)]
    for one, next_one in itertools.pairwise(epochs):
        assert torch.equal(next_one, one.flip(3))
    first = sum(torch.equal(after, before.flip(2)) for before, after in zip(images, epochs[0], strict=True))
    assert 70 < first < 130


def test_a_crop_is_the_box_resized_by_torchvision():
    images, crop = photographs(24, 3, 40, 48), RandomResizedCrop(size=32)
    boxes = crop.boxes(draws(24), 40, 48).T.tolist()
    expected = [functional.resized_crop(image, *box, [32, 32]) for image, box in zip(images, boxes, strict=True)]
    assert torch.equal(crop(images, draws(24)), torch.stack(expected))
    assert len({tuple(box) for box in boxes}) == 24


def test_boxes_lie_inside_and_have_the_published_areas_and_ratios():
    size = 224
    top, left, height, width = RandomResizedCrop().boxes(draws(20_000), size, size)
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


def test_where_no_box_fits_the_center_is_taken_at_the_nearest_ratio():
    assert RandomResizedCrop(scale=(0.9, 1.0)).boxes(draws(2), 30, 400).T.tolist() == [[0, 180, 30, 40]] * 2
    assert RandomResizedCrop(scale=(0.9, 1.0)).boxes(draws(1), 400, 30).T.tolist() == [[180, 0, 40, 30]]


def test_resizing_and_the_center_are_those_of_torchvision():
    images = photographs()
    assert torch.equal(augmentation("resize", size=30)(images, draws(16)), functional.resize(images, [30]))
    assert torch.equal(augmentation("center_crop", size=11)(images, draws(16)), functional.center_crop(images, [11]))


def test_an_erased_box_has_the_value_and_everything_else_is_kept():
    images = photographs(600, 3, 32, 32) // 2 + 1
    erased = augmentation("random_erasing", probability=0.5, value=255)(images, draws(600))
    shares = []
    for before, after in zip(images, erased, strict=True):
        box = (after == 255).all(0)
        assert torch.equal(after[:, ~box], before[:, ~box])
        rows, columns = box.any(1).nonzero()[:, 0], box.any(0).nonzero()[:, 0]
        if len(rows):
            height, width = int(rows[-1] - rows[0]) + 1, int(columns[-1] - columns[0]) + 1
            assert box.sum() == height * width < 32 * 32
            shares.append((height * width / 1024, height / width))
    assert 250 < len(shares) < 350
    area, ratio = np.array(shares).T
    assert area.min() > 0.01
    assert area.max() < 0.36
    assert 0.15 < area.mean() < 0.2
    assert abs(np.log(ratio).mean()) < 0.15


def test_images_grow_with_the_epochs_up_to_their_size():
    chain = pipeline(ProgressiveResize(start=0.5, until=0.6, multiple=4), epochs=5)
    images = photographs(2, 3, 32, 32)
    sizes = [chain.images(images, torch.arange(2), epoch).shape[-1] for epoch in range(5)]
    assert sizes == [16, 20, 28, 32, 32]  # 0.5 + 0.5 * (0, 1/3, 2/3, 1, 1) of 32, to multiples of 4
    assert torch.equal(chain.images(images, torch.arange(2), 0), functional.resize(images, [16, 16]))
    assert chain.images(images, torch.arange(2), 4) is images
