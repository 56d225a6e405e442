"""What is made of streamed images once and for all: their pixels in one tensor, or the spread of their colors."""

from __future__ import annotations

from pathlib import Path

import PIL
from torch import Tensor

from regnas.data.image_cache import cached_images, cached_preprocessing
from regnas.data.image_decoding import decode_all
from regnas.data.preprocessing import MOST_DECODED, Preprocessing
from regnas.data.streaming import Images
from regnas.runtime.files import digest_of


def packed(images: Images, cache: Path) -> Tensor:
    """All images in one tensor, which is kept until a file changes; a tensor is left as it is."""
    if isinstance(images, Tensor):
        return images
    decoder, files = images.decoder, images.files
    # The folder is in the key since files of other data sets may well agree in name, size and time (uncompressed
    # images from an archive without times); the version of PIL since its resizing decides the pixels. "fit" is not,
    # so that what was kept before there were transforms is still found.
    key = [str(decoder.folder), files.rows(), decoder.size, decoder.channels, PIL.__version__]
    if decoder.transform != "fit":
        key.append(str(decoder.transform))
    return cached_images(cache, digest_of(key), tuple(images.shape), lambda: decode_all(decoder, files))


def fitted_once(images: Images, cache: Path) -> Preprocessing:
    """The preprocessing fitted to images; where they are streamed it is kept, so that none is decoded again for it."""
    if isinstance(images, Tensor):
        return Preprocessing.fitted_to(images)
    key = digest_of([str(images.decoder.folder), images.digest, MOST_DECODED])
    return cached_preprocessing(cache, key, lambda: Preprocessing.fitted_to(images))
