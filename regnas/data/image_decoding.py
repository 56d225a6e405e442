"""Image files to pixels, with threads: PIL releases the interpreter lock while it decodes and resizes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regnas.data.image_transforms import Center, Transform, transformed
from regnas.errors import DataError
from regnas.pictures.decoding import MODES, ignore_metadata_warnings, read_picture
from regnas.pictures.files import ImageFiles
from regnas.runtime.progress import track

LARGEST_HANDFUL = 16  # images per task of a thread: little overhead, and still an even progress
MOST_WORKERS = 32


@dataclass(frozen=True)
class Decoder:
    """Decodes the image files below ``folder`` with ``workers`` threads; 0 is one per core."""

    folder: Path
    size: int
    channels: int
    transform: Transform | Center
    workers: int

    @property
    def thread_count(self) -> int:
        return self.workers or min(MOST_WORKERS, os.cpu_count() or 1)

    def empty(self, number: int) -> Tensor:
        return torch.empty(number, self.channels, self.size, self.size, dtype=torch.uint8)

    @contextmanager
    def threads(self) -> Iterator[ThreadPoolExecutor]:
        ignore_metadata_warnings()
        pool = ThreadPoolExecutor(self.thread_count)
        try:
            yield pool
        finally:  # an interrupt must not wait for the images that are still in the queue
            pool.shutdown(cancel_futures=True)

    def begin(self, pool: ThreadPoolExecutor, files: ImageFiles, images: Tensor) -> Iterator[str | None]:
        """Start filling ``images`` [N, C, H, W]; yield per file None, or its name with the problem."""
        pixels = images.numpy()  # the same memory: the threads fill it in place
        # Also a small batch uses all threads.
        handful = min(LARGEST_HANDFUL, max(1, len(files) // (4 * self.thread_count)))

        def decode_handful(start: int) -> list[str | None]:
            stop = min(start + handful, len(files))
            return [decode_file(self, files, index, pixels[index]) for index in range(start, stop)]

        return chain.from_iterable(pool.map(decode_handful, range(0, len(files), handful)))


def decode_all(decoder: Decoder, files: ImageFiles) -> Tensor:
    """Return all images, [N, C, H, W] uint8; raise a DataError that counts the files that cannot be read."""
    images = decoder.empty(len(files))
    with decoder.threads() as pool:
        outcomes = track(decoder.begin(pool, files, images), "decoding images", total=len(files))
        bad = [outcome for outcome in outcomes if outcome is not None]
    if bad:
        raise DataError(f"{len(bad):,} of {len(files):,} images in {decoder.folder} cannot be read, first {bad[0]}")
    return images


def decode_file(decoder: Decoder, files: ImageFiles, index: int, pixels: NDArray[np.uint8]) -> str | None:
    """Fill ``pixels`` [C, H, W], or return the name with the reason why the file cannot be read."""
    name = files.name(index)
    try:
        status = (decoder.folder / name).stat()
        if not stat.S_ISREG(status.st_mode):  # opening a named pipe would wait forever
            return f"{name}: not a file"
        if (status.st_size, status.st_mtime_ns) != (files.sizes[index], files.times[index]):
            return f"{name}: changed since the images were listed"
        picture = read_picture(decoder.folder / name, MODES[decoder.channels])
        square = transformed(picture, decoder.transform, decoder.size)
    except Exception as error:  # damaged files make decoders raise almost anything
        return f"{name}: {str(error) or type(error).__name__}"
    decoded = np.asarray(square)  # [H, W] or [H, W, C]
    pixels[:] = decoded if decoder.channels == 1 else decoded.transpose(2, 0, 1)
    return None
