"""Images that stay files until they are needed, instead of a tensor that would not fit into memory."""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import PIL
import torch
from numpy.typing import NDArray
from torch import Tensor

from regnas.data.image_decoding import Decoder
from regnas.errors import DataError
from regnas.pictures.files import ImageFiles
from regnas.runtime.files import digest_of

LEAD = 128  # images that are decoded ahead of the batch in use


@dataclass(frozen=True, eq=False)
class StreamedImages:
    """Files with the part of the interface of a uint8 tensor [N, C, H, W] that a split needs.

    An index decodes only the images that it selects, each time again; nothing is kept. A worker process gets names,
    sizes and times, because threads live only as long as a call.
    """

    decoder: Decoder
    files: ImageFiles

    dtype: ClassVar[torch.dtype] = torch.uint8
    device: ClassVar[torch.device] = torch.device("cpu")
    ndim: ClassVar[int] = 4

    def __len__(self) -> int:
        return len(self.files)

    @property
    def shape(self) -> torch.Size:
        return torch.Size((len(self), self.decoder.channels, self.decoder.size, self.decoder.size))

    def __getitem__(self, index: int | slice | Tensor) -> Tensor:
        """Return decoded images, [C, H, W] for a number and [M, C, H, W] for a slice or a tensor of numbers."""
        if isinstance(index, int):
            return self[torch.tensor([index])][0]
        chosen = self.files.part(index if isinstance(index, slice) else index.cpu().numpy())
        with self.decoder.threads() as pool:
            return _Batch(self.decoder, chosen, pool).images()

    def part(self, indices: NDArray[np.int64]) -> StreamedImages:
        """Return a selection, still as files."""
        return StreamedImages(self.decoder, self.files.part(indices))

    def batches(self, size: int) -> Iterator[Tensor]:
        """Yield all images in order, ``size`` at a time; decode the next ones while a batch is in use.

        At most ``LEAD`` images in whole batches are decoded ahead: enough for all threads, and little memory.
        """
        under_way: deque[_Batch] = deque()
        with self.decoder.threads() as pool:
            for start in range(0, len(self), size):
                under_way.append(_Batch(self.decoder, self.files.part(slice(start, start + size)), pool))
                if len(under_way) > math.ceil(LEAD / size):
                    yield under_way.popleft().images()
            while under_way:
                yield under_way.popleft().images()

    @cached_property
    def digest(self) -> str:
        """The sha256 of names, file sizes, times of modification, transform, shape and version of PIL.

        It represents the pixels, which would take hours to read. A file that changes but keeps its size and its time is
        not noticed, and a copy of the folder has the same digest only if it keeps the times.
        """
        decoding = [list(self.shape), str(self.decoder.transform), PIL.__version__]
        content = hashlib.sha256(digest_of(decoding).encode())
        content.update(b"\0".join(self.files.names.tolist()))
        for numbers in (self.files.sizes, self.files.times):
            content.update(np.ascontiguousarray(numbers, dtype="<i8").data)
        return content.hexdigest()


class _Batch:
    """Images whose decoding has begun."""

    def __init__(self, decoder: Decoder, files: ImageFiles, pool: ThreadPoolExecutor) -> None:
        self._folder = decoder.folder
        self._images = decoder.empty(len(files))
        self._outcomes = decoder.begin(pool, files, self._images)

    def images(self) -> Tensor:
        """Return the images; wait until the last one is decoded."""
        for problem in self._outcomes:
            if problem is not None:
                raise DataError(f"cannot read an image in {self._folder}: {problem}. Repair or remove it.")
        return self._images


Images = Tensor | StreamedImages  # uint8 [N, C, H, W]


def batches_of(images: Images, size: int) -> Iterator[Tensor]:
    """Yield all images in order, ``size`` at a time, without copying all of them."""
    return iter(torch.split(images, size)) if isinstance(images, Tensor) else images.batches(size)
