"""Image files to one tensor, all of them or a DataError that counts the bad ones."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps
from torch import Tensor

from regnas.errors import DataError
from regnas.runtime.progress import track

BATCH = 64  # images a thread takes at once: fewer hand-overs, and still an even progress
MODES = {1: "L", 3: "RGB"}


def decode_all(folder: Path, names: Sequence[str], size: int, channels: int) -> Tensor:
    """[N, channels, size, size] uint8, in the order of ``names``."""
    images = torch.empty(len(names), channels, size, size, dtype=torch.uint8)
    pixels = images.numpy()  # the same memory: the threads fill it in place, nothing is held twice

    def decode_batch(start: int) -> list[str | None]:
        stop = min(start + BATCH, len(names))
        return [_decode(folder, names[index], pixels[index]) for index in range(start, stop)]

    with warnings.catch_warnings(), ThreadPoolExecutor(min(32, os.cpu_count() or 1)) as pool:
        # PIL warns of odd metadata that does not matter here, and only warns of images made to exhaust the memory
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            outcomes = chain.from_iterable(pool.map(decode_batch, range(0, len(names), BATCH)))
            bad = [outcome for outcome in track(outcomes, "decoding images", total=len(names)) if outcome is not None]
        finally:  # an interrupt must not wait for the images that are still in the queue
            pool.shutdown(cancel_futures=True)
    if bad:
        raise DataError(f"{len(bad):,} of {len(names):,} images in {folder} cannot be read, first {bad[0]}")
    return images


def _decode(folder: Path, name: str, pixels: NDArray[np.uint8]) -> str | None:
    """Fill ``pixels`` [C, H, W], or return the name with the reason why that is impossible."""
    path = folder / name
    channels, size, _ = pixels.shape
    try:
        if not path.is_file():  # opening a named pipe would wait for ever
            return f"{name}: not a file"
        with Image.open(path) as image:
            if image.mode.startswith(("I", "F")):  # PIL would clip them instead of scaling
                return f"{name}: its pixels are not of 8 bits a channel; convert it"
            square = ImageOps.fit(image.convert(MODES[channels]), (size, size), Image.Resampling.BILINEAR)
    except Exception as error:  # damaged files make decoders raise almost anything
        return f"{name}: {str(error) or type(error).__name__}"
    decoded = np.asarray(square)  # [H, W] or [H, W, C]
    pixels[:] = decoded if channels == 1 else decoded.transpose(2, 0, 1)
    return None
