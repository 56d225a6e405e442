"""Images for tests of augmentations."""

from __future__ import annotations

import numpy as np
import torch

from regnas.augmentations import AUGMENTATIONS, Pipeline
from regnas.runtime.draws import Draws

# One of each, with keys that are not the defaults.
IMAGE_AUGMENTATIONS = {
    "shift": {"pixels": 3},
    "horizontal_flip": {"probability": 0.4},
    "alternating_flip": {},
    "random_resized_crop": {"size": 12, "scale": (0.3, 1.0)},
    "resize": {"size": 28},
    "center_crop": {"size": 10},
    "progressive_resize": {},
    "color_jitter": {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1},
    "trivial_augment": {},
    "rand_augment": {"operations": 2},
    "random_erasing": {"probability": 0.7, "value": 9},
}


def photographs(count=16, channels=3, height=20, width=24, seed=0):
    """Return smooth images with noise, so that no two pixels are alike and no operation is trivial."""
    random = torch.Generator().manual_seed(seed)
    coarse = torch.rand(count, channels, 3, 3, generator=random)
    smooth = torch.nn.functional.interpolate(coarse, (height, width), mode="bicubic")
    noise = 0.1 * torch.rand(count, channels, height, width, generator=random)
    return ((smooth + noise).clamp(0, 1) * 255).to(torch.uint8)


def augmentation(name, **keys):
    return AUGMENTATIONS[name](**(keys or IMAGE_AUGMENTATIONS.get(name, {})))


def pipeline(*augmentations, key=(0,), epochs=4):
    return Pipeline(tuple(augmentations), key, epochs)


def draws(count, key=1, epoch=0):
    return Draws(key, epoch, np.arange(count))
