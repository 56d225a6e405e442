"""The augmentations of a training as one function of images, sample numbers and the epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from regnas.augmentations.augmentation import Augmentation, ChangesOverTraining, ImageAugmentation, Mixing, Shape
from regnas.errors import ConfigurationError, DataError
from regnas.runtime.draws import Draws
from regnas.runtime.randomness import Key, key_to_int


@dataclass(frozen=True)
class Pipeline:
    """The augmentations of single images, in order, of a training with this ``key`` and number of ``epochs``.

    The draws of an augmentation depend on the key, its class and how often the class came before, the epoch and the
    number of the sample. So they do not depend on batches, processes, threads, or other augmentations. No state is
    kept: threads may use one pipeline at the same time.
    """

    augmentations: tuple[Augmentation, ...]
    key: tuple[Key, ...]
    epochs: int

    def images(self, images: Tensor, indices: Tensor, epoch: int) -> Tensor:
        """Return the images of an epoch.

        Args:
            images: uint8 [N, C, H, W], on the CPU.
            indices: [N], the numbers of the samples in the training split.
            epoch: from 0.

        Returns:
            uint8 [N, C, H', W'].
        """
        if images.dtype != torch.uint8:
            raise DataError(f"images must be uint8 to be augmented, got {images.dtype}. Augment before normalizing.")
        images = images.contiguous()  # means over an image depend on the order of its bytes
        samples = indices.cpu().numpy().astype(np.int64)
        for key, augmentation in zip(self._keys, self.augmentations, strict=True):
            if not isinstance(augmentation, Mixing):
                images = at_progress(augmentation, epoch / self.epochs)(images, Draws(key, epoch, samples))
        return images

    @cached_property
    def _keys(self) -> tuple[int, ...]:
        names = [type(augmentation).__name__ for augmentation in self.augmentations]
        places = [names[:index].count(name) for index, name in enumerate(names)]
        return tuple(key_to_int(*self.key, "augmentation", *each) for each in zip(names, places, strict=True))


def mixings_of(augmentations: Sequence[Augmentation]) -> tuple[Mixing, ...]:
    """Return those that mix the images of a batch."""
    return tuple(each for each in augmentations if isinstance(each, Mixing))


def at_progress(augmentation: Augmentation, progress: float) -> ImageAugmentation:
    """Return the augmentation of images at ``progress`` 0 <= p < 1 of the training."""
    if isinstance(augmentation, ChangesOverTraining):
        return augmentation.at(progress)
    assert isinstance(augmentation, ImageAugmentation)  # the registry admits nothing else beside mixings
    return augmentation


def shapes_over(augmentations: Sequence[Augmentation], shape: Shape, epochs: int, where: str) -> list[Shape]:
    """Return the different shapes of the training images, in the order of the epochs.

    Raises:
        ConfigurationError: an augmentation does not fit the images that it gets.
    """
    found: dict[Shape, None] = {}
    for epoch in range(epochs):
        found[_shape_at(augmentations, shape, epoch / epochs, epoch + 1 == epochs, where)] = None
    return list(found)


def _shape_at(augmentations: Sequence[Augmentation], shape: Shape, progress: float, is_last: bool, where: str) -> Shape:
    for index, augmentation in enumerate(augmentations):
        place = f"{where}[{index}]"
        try:
            now = augmentation.at(progress) if isinstance(augmentation, ChangesOverTraining) else augmentation
            after, wanted = now.shape_after(shape), augmentation.shape_after(shape)
        except ValueError as error:
            raise ConfigurationError(f"{place}: {error}") from None
        if is_last and after != wanted:
            raise ConfigurationError(
                f"{place}: the last epoch must have images of {wanted[1]} x {wanted[2]} pixels, got {after[1]} x "
                f"{after[2]}. Train for more epochs, or let it end earlier."
            )
        shape = after
    return shape
