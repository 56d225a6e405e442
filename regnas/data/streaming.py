"""Images that stay files until they are needed, instead of a tensor that would not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
import PIL
import torch
from numpy.typing import NDArray
from torch import Tensor

from regnas.data.image_decoding import Decoder
from regnas.data.loading import Loader, in_order
from regnas.data.packs import Pack, PackedRows
from regnas.pictures.files import ImageFiles
from regnas.runtime.files import digest_of


@dataclass(frozen=True, eq=False)
class StreamedImages:
    """Files with the part of the interface of a uint8 tensor [N, C, H, W] that a split needs.

    An index makes only the images that it selects, each time again, from the pack if there is one; nothing is kept. A
    worker process gets names, sizes and times, because threads live only as long as a call.
    """

    decoder: Decoder
    files: ImageFiles
    packed: PackedRows | None = None

    dtype: ClassVar[torch.dtype] = torch.uint8
    device: ClassVar[torch.device] = torch.device("cpu")
    ndim: ClassVar[int] = 4

    def __len__(self) -> int:
        return len(self.files)

    @property
    def shape(self) -> torch.Size:
        return torch.Size((len(self), *self.decoder.shape))

    @property
    def folder(self) -> Path:
        return self.decoder.folder

    @property
    def workers(self) -> int:
        return self.decoder.workers

    def __getitem__(self, index: int | slice | Tensor) -> Tensor:
        """Return decoded images, [C, H, W] for a number and [M, C, H, W] for a slice or a tensor of numbers."""
        if isinstance(index, int):
            return self[torch.tensor([index])][0]
        chosen = torch.arange(len(self))[index.cpu() if isinstance(index, Tensor) else index]
        return next(Loader(self).batches([(chosen, 0)]))

    def fill(self, index: int, pixels: NDArray[np.uint8]) -> str | None:
        """Fill ``pixels`` [C, H, W], or return the name with the reason why the image cannot be read."""
        if self.packed is None:
            return self.decoder.fill(self.files, index, pixels)
        return self.packed.fill(self.decoder, self.files, index, pixels)

    def part(self, indices: NDArray[np.int64]) -> StreamedImages:
        """Return a selection, still as files."""
        packed = None if self.packed is None else self.packed.part(indices)
        return StreamedImages(self.decoder, self.files.part(indices), packed)

    def with_pack(self, pack: Pack) -> StreamedImages:
        """Return the same images, read from their rows in a pack of these files."""
        return replace(self, packed=PackedRows(pack, np.arange(len(self))))

    def batches(self, size: int) -> Iterator[Tensor]:
        """Yield all images in order, ``size`` at a time; decode the next ones while a batch is in use."""
        return Loader(self).batches(in_order(len(self), size))

    @cached_property
    def digest(self) -> str:
        """The sha256 of names, file sizes, times of modification, transform, shape and version of PIL.

        It represents the pixels, which would take hours to read. A file that changes but keeps its size and its time is
        not noticed, and a copy of the folder has the same digest only if it keeps the times.
        """
        decoding = [list(self.shape), str(self.decoder.transform), PIL.__version__]
        if self.packed is not None and self.packed.changes_pixels:
            decoding.append(self.packed.kind)
        return self.files.sha256(digest_of(decoding))


Images = Tensor | StreamedImages  # uint8 [N, C, H, W]


def batches_of(images: Images, size: int) -> Iterator[Tensor]:
    """Yield all images in order, ``size`` at a time, without copying all of them."""
    return iter(torch.split(images, size)) if isinstance(images, Tensor) else images.batches(size)
