from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
import torch

from regnas.augmentations import check_augmentation, mixings_of, shapes_over
from regnas.errors import ConfigurationError, DataError
from tests.augmentations.images import IMAGE_AUGMENTATIONS, augmentation, photographs, pipeline


@pytest.mark.parametrize("name", IMAGE_AUGMENTATIONS)
def test_an_image_is_the_same_in_every_batch_order_thread_and_process(name):
    images, chain = photographs(), pipeline(augmentation(name))
    indices = torch.arange(16) * 7
    whole = chain.images(images, indices, 1)
    order = torch.randperm(16, generator=torch.Generator().manual_seed(3))
    assert torch.equal(chain.images(images[order], indices[order], 1), whole[order])
    rearranged = images.contiguous(memory_format=torch.channels_last)
    assert torch.equal(chain.images(rearranged, indices, 1), whole)
    again = pickle.loads(pickle.dumps(chain))
    with ThreadPoolExecutor(4) as pool:
        alone = pool.map(
            lambda place: again.images(images[place : place + 1], indices[place : place + 1], 1), range(16)
        )
        assert torch.equal(torch.cat(list(alone)), whole)
    assert whole.dtype == torch.uint8


@pytest.mark.parametrize("name", sorted(set(IMAGE_AUGMENTATIONS) - {"resize", "center_crop", "progressive_resize"}))
def test_epochs_samples_and_keys_draw_differently(name):
    image = photographs(1).expand(24, -1, -1, -1)
    chain, indices = pipeline(augmentation(name)), torch.arange(24)
    first = chain.images(image, indices, 0)
    assert len({each.numpy().tobytes() for each in first}) > 1  # samples
    assert not torch.equal(chain.images(image, indices, 1), first)
    assert not torch.equal(pipeline(augmentation(name), key=(1,)).images(image, indices, 0), first)
    assert torch.equal(chain.images(image, indices, 0), first)


def test_an_augmentation_draws_the_same_beside_others_and_differently_when_it_comes_twice():
    images, indices = photographs(), torch.arange(16)
    flip, shift = augmentation("horizontal_flip"), augmentation("shift", pixels=5)
    flipped = pipeline(flip).images(images, indices, 2)
    shifted_first = pipeline(shift, flip).images(images, indices, 2)
    assert torch.equal(shifted_first, pipeline(flip).images(pipeline(shift).images(images, indices, 2), indices, 2))
    assert not torch.equal(pipeline(flip, flip).images(images, indices, 2), images)  # not mirrored back
    assert not torch.equal(flipped, images)


def test_images_keep_their_bytes_without_augmentations_and_mixing_is_no_part_of_the_pipeline():
    images = photographs()
    mixup = augmentation("mixup")
    assert torch.equal(pipeline(mixup).images(images, torch.arange(16), 0), images)
    assert mixings_of((augmentation("shift"), mixup)) == (mixup,)


def test_floats_are_refused():
    with pytest.raises(DataError, match="uint8 to be augmented"):
        pipeline(augmentation("rand_augment")).images(photographs() / 255, torch.arange(16), 0)


def test_shapes_are_those_of_the_images():
    for name in IMAGE_AUGMENTATIONS:
        chain, images = (augmentation(name),), photographs()
        found = [pipeline(*chain).images(images, torch.arange(16), epoch).shape[1:] for epoch in range(4)]
        assert shapes_over(chain, (3, 20, 24), 4, "") == [tuple(shape) for shape in dict.fromkeys(found)]


@pytest.mark.parametrize(
    ("settings", "shape", "message"),
    [
        (("shift", {"pixels": 11}), (3, 20, 24), r"pixels must be at most half of the image, 10, got 11. Lower it"),
        (("center_crop", {"size": 21}), (3, 20, 24), r"size must be at most .* 20 x 24, got 21. Lower it, or resize"),
        (("color_jitter", {"hue": 0.1}), (1, 20, 24), r"saturation and hue must be 0 for images with 1 channel"),
        (("color_jitter", {"brightness": 0.1}), (4, 8, 8), r"1 or 3 channels, got 4. Remove"),
        (("trivial_augment", {}), (2, 8, 8), r"1 or 3 channels, got 2"),
        (("rand_augment", {}), (2, 8, 8), r"1 or 3 channels, got 2"),
        (("progressive_resize", {"multiple": 16}), (3, 8, 8), r"multiple must fit into the image"),
        (("progressive_resize", {"until": 0.9}), (3, 32, 32), r"the last epoch must .* 32 x 32 .*Train for more"),
    ],
)
def test_what_does_not_fit_the_images_is_refused_with_its_place(settings, shape, message):
    name, keys = settings
    with pytest.raises(ConfigurationError, match=rf"training\.augmentations\[1\]: .*{message}"):
        shapes_over((augmentation("horizontal_flip"), augmentation(name, **keys)), shape, 4, "training.augmentations")


def test_the_shape_that_counts_is_that_of_the_images_before():
    enlarged = (augmentation("resize", size=40), augmentation("center_crop", size=32))
    assert shapes_over(enlarged, (3, 20, 24), 1, "") == [(3, 32, 32)]


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("shift", {"pixels": 0}),
        ("horizontal_flip", {"probability": 0.0}),
        ("random_resized_crop", {"size": 0}),
        ("random_resized_crop", {"scale": (0.0, 1.0)}),
        ("random_resized_crop", {"scale": (0.5, 1.5)}),
        ("random_resized_crop", {"ratio": (2.0, 1.0)}),
        ("resize", {"size": 0}),
        ("center_crop", {"size": -1}),
        ("color_jitter", {"brightness": 0.0}),
        ("color_jitter", {"hue": 0.6}),
        ("color_jitter", {"contrast": -0.1}),
        ("rand_augment", {"operations": 0}),
        ("rand_augment", {"magnitude": 31}),
        ("random_erasing", {"value": 256}),
        ("mixup", {"alpha": 0.0}),
        ("cutmix", {"alpha": float("nan")}),
        ("cutmix", {"probability": 1.1}),
        ("progressive_resize", {"start": 1.0}),
        ("progressive_resize", {"until": 1.0}),
    ],
)
def test_impossible_keys_are_refused(name, keys):
    with pytest.raises(ValueError, match="must be"):
        augmentation(name, **keys)


@dataclass(frozen=True)
class ShapeAlone:
    """Has a shape and changes nothing."""

    def shape_after(self, shape):
        return shape


@dataclass(frozen=True)
class Inverted(ShapeAlone):
    """Invert the images."""

    def __call__(self, images, draws):
        return 255 - images


def test_a_part_of_another_package_must_be_an_augmentation():
    check_augmentation(Inverted)
    with pytest.raises(
        ValueError, match=r"must define shape_after\(\), and one of __call__\(\), at\(\) and mix\(\), got"
    ):
        check_augmentation(ShapeAlone)
    images = photographs()
    assert torch.equal(pipeline(Inverted()).images(images, torch.arange(16), 0), 255 - images)
