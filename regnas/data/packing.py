"""Results of decoding that are computed once and kept: pixels in one tensor, and the statistics of the colors."""

from __future__ import annotations

from pathlib import Path

import PIL
from torch import Tensor

from regnas.data.image_cache import cached_images, cached_preprocessing
from regnas.data.image_decoding import decode_all
from regnas.data.preprocessing import MOST_DECODED, Preprocessing
from regnas.data.streaming import Images
from regnas.runtime.files import digest_of


def pack(images: Images, cache: Path) -> Tensor:
    """Return all images in one tensor, which is kept until a file changes; return a tensor unchanged."""
    if isinstance(images, Tensor):
        return images
    decoder, files = images.decoder, images.files
    # The folder is in the key because files of other data sets may have the same names, sizes and times (uncompressed
    # images from an archive without times), and the version of PIL because its resizing determines the pixels.
    key = [str(decoder.folder), files.rows(), decoder.size, decoder.channels, str(decoder.transform), PIL.__version__]
    return cached_images(cache, digest_of(key), tuple(images.shape), lambda: decode_all(decoder, files))


def fit_once(images: Images, cache: Path) -> Preprocessing:
    """Return the preprocessing fitted to images; keep it if they are streamed, so none is decoded again."""
    if isinstance(images, Tensor):
        return Preprocessing.fitted_to(images)
    key = digest_of([str(images.decoder.folder), images.digest, MOST_DECODED])
    return cached_preprocessing(cache, key, lambda: Preprocessing.fitted_to(images))
