"""Augmentations of training images, and the table of their names: one file per augmentation.

The arithmetic is that of torchvision.transforms.v2. The draws are keyed by training, epoch and sample: an image looks
the same in any batch, thread and process.
"""

from __future__ import annotations

from typing import Any

from regnas.augmentations.augmentation import Augmentation, ChangesOverTraining, ImageAugmentation, Mixing, Shape
from regnas.augmentations.mixing import MixedLabels, choose_mixing
from regnas.augmentations.pipeline import Pipeline, mixings_of, shapes_over
from regnas.components.registry import Registry, check_component


def check_augmentation(part: Any) -> None:
    """Raise ``ValueError`` if a part is not an augmentation."""
    check_component(part)
    defined = {name for kind in part.__mro__ for name in vars(kind)}  # every class itself has __call__, of its type
    if "shape_after" not in defined or not defined & {"__call__", "at", "mix"}:
        raise ValueError(f"must define shape_after(), and one of __call__(), at() and mix(), got {part!r}")


# Imported on first use, because torchvision takes seconds to import.
AUGMENTATIONS: Registry[type[Augmentation]] = Registry(
    "augmentation",
    "regnas.augmentations",
    {
        "shift": "regnas.augmentations.shift:Shift",
        "horizontal_flip": "regnas.augmentations.horizontal_flip:HorizontalFlip",
        "alternating_flip": "regnas.augmentations.alternating_flip:AlternatingFlip",
        "random_resized_crop": "regnas.augmentations.random_resized_crop:RandomResizedCrop",
        "resize": "regnas.augmentations.resize:Resize",
        "center_crop": "regnas.augmentations.center_crop:CenterCrop",
        "progressive_resize": "regnas.augmentations.progressive_resize:ProgressiveResize",
        "color_jitter": "regnas.augmentations.color_jitter:ColorJitter",
        "trivial_augment": "regnas.augmentations.trivial_augment:TrivialAugment",
        "rand_augment": "regnas.augmentations.rand_augment:RandAugment",
        "random_erasing": "regnas.augmentations.random_erasing:RandomErasing",
        "mixup": "regnas.augmentations.mixup:Mixup",
        "cutmix": "regnas.augmentations.cutmix:CutMix",
    },
    check_augmentation,
)

__all__ = [
    "AUGMENTATIONS",
    "Augmentation",
    "ChangesOverTraining",
    "ImageAugmentation",
    "MixedLabels",
    "Mixing",
    "Pipeline",
    "Shape",
    "check_augmentation",
    "choose_mixing",
    "mixings_of",
    "shapes_over",
]
