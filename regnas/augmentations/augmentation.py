"""What an augmentation is: a function of images and of draws that are keyed by the sample and the epoch."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from torch import Tensor

from regnas.runtime.draws import Draws

Shape = tuple[int, int, int]  # channels, height, width


class Augmentation(Protocol):
    """A frozen dataclass that is also an ``ImageAugmentation``, a ``Mixing`` or a ``ChangesOverTraining``."""

    def shape_after(self, shape: Shape) -> Shape:
        """Return the shape of the images afterwards; raise ``ValueError`` for images that do not fit."""
        ...


@runtime_checkable
class ImageAugmentation(Augmentation, Protocol):
    """Changes every image on its own."""

    def __call__(self, images: Tensor, draws: Draws) -> Tensor:
        """Return uint8 images [N, C, H', W'] from [N, C, H, W]; the draws are those of the same N samples.

        Each image depends on itself and its own draws alone, to the last bit. No state is kept: threads may call this
        at the same time.
        """
        ...


@runtime_checkable
class ChangesOverTraining(Augmentation, Protocol):
    """Another augmentation of images in every epoch."""

    def at(self, progress: float) -> ImageAugmentation:
        """Return the augmentation at ``progress`` 0 <= p < 1 of the training."""
        ...


@runtime_checkable
class Mixing(Augmentation, Protocol):
    """Mixes every image of a batch with a partner, and so their labels; after all augmentations of single images."""

    probability: float

    def mix(self, images: Tensor, partners: Tensor, random: np.random.Generator) -> tuple[Tensor, float]:
        """Return the mixed images [N, C, H, W], and the share of the label of ``images``; the rest is the partner's.

        What is drawn depends on ``random`` and the size of the images, not on their number.
        """
        ...
