"""Batches of images in a given order, made by threads in the background while the caller uses the batch before.

Neither the number of threads nor their timing changes a bit: the order is given, a thread gets the same images
together in every run, and augmentations draw by sample and epoch. Nothing is kept: an epoch needs the memory of a few
batches, however many images there are.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regnas.errors import DataError
from regnas.pictures.decoding import ignore_metadata_warnings

LEAD = 128  # images that are made ahead of the batch in use, in whole batches
HANDFUL = 8  # images per task of a thread; fixed, because an augmentation gets them together
MOST_THREADS = 32
CPU = torch.device("cpu")

# Images [N, C, H, W], the number of each in the data [N], and the epoch, to images [N, C, H', W']. It is called in
# threads, with any part of a batch, and depends on these arguments alone.
Augment = Callable[[Tensor, Tensor, int], Tensor]
Wanted = tuple[Tensor, int]  # the numbers of the images of a batch, and the epoch


class FileImages(Protocol):
    """Images that are made one by one."""

    @property
    def shape(self) -> torch.Size: ...

    @property
    def folder(self) -> Path: ...

    @property
    def workers(self) -> int: ...

    def fill(self, index: int, pixels: NDArray[np.uint8]) -> str | None:
        """Fill ``pixels`` [C, H, W], or return the name of the image with the reason why it cannot be read."""


@dataclass(frozen=True, eq=False)
class Loader:
    """Loads batches of images [N, C, H, W] in the given order to a device.

    Files are decoded, and images augmented, by threads. Images in memory that are not augmented are copied by the
    caller. For CUDA, batches are made in pinned memory and copied without waiting.

    Example:
        >>> images = torch.arange(4, dtype=torch.uint8).view(4, 1, 1, 1)
        >>> wanted = [(torch.tensor([2, 0]), 0), (torch.tensor([3]), 0)]
        >>> [batch.flatten().tolist() for batch in Loader(images).batches(wanted)]
        [[2, 0], [3]]
    """

    images: Tensor | FileImages
    device: torch.device = CPU
    augment: Augment | None = None

    def batches(self, wanted: Iterable[Wanted]) -> Generator[Tensor, None, None]:
        """Yield a batch for each entry of ``wanted``, of which a few are consumed ahead.

        The threads end with the iterator: at the last batch, at an error, or if it is closed.
        """
        if isinstance(self.images, Tensor):
            for indices, epoch in wanted:
                yield self._send(self._from_memory(self.images, indices, epoch))
            return
        begun: deque[_Batch] = deque()
        with running_threads(self.images.workers) as pool:
            for indices, epoch in wanted:
                begun.append(self._begin(pool, indices, epoch))
                if sum(len(batch) for batch in begun) - len(begun[0]) >= LEAD:
                    yield self._send(begun.popleft().images())
            while begun:
                yield self._send(begun.popleft().images())

    def _begin(self, pool: ThreadPoolExecutor, indices: Tensor, epoch: int) -> _Batch:
        batch = _Batch(len(indices), self._empty)
        if self.augment is None or not len(indices):
            batch.room(self.images.shape[1:], torch.uint8)
        for start in range(0, len(indices), HANDFUL):
            part = slice(start, start + HANDFUL)
            batch.tasks.append(pool.submit(self._make, batch, part, indices[part], epoch))
        return batch

    def _make(self, batch: _Batch, part: slice, indices: Tensor, epoch: int) -> None:
        if self.augment is None:
            self._read_into(batch.room(self.images.shape[1:], torch.uint8)[part], indices)
            return
        made = self.augment(self._read(indices), indices, epoch)
        batch.room(made.shape[1:], made.dtype)[part] = made

    def _read(self, indices: Tensor) -> Tensor:
        images = torch.empty(len(indices), *self.images.shape[1:], dtype=torch.uint8)
        self._read_into(images, indices)
        return images

    def _read_into(self, images: Tensor, indices: Tensor) -> None:
        assert not isinstance(self.images, Tensor)  # see batches
        for index, pixels in zip(indices.tolist(), images.numpy(), strict=True):  # the same memory
            problem = self.images.fill(index, pixels)
            if problem is not None:
                raise DataError(f"cannot read an image in {self.images.folder}: {problem}. Repair or remove it.")

    def _from_memory(self, images: Tensor, indices: Tensor, epoch: int) -> Tensor:
        made = images[indices] if self.augment is None else self.augment(images[indices], indices, epoch)
        return self._empty(made.shape, made.dtype).copy_(made) if self._pinned else made

    def _empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        return torch.empty(shape, dtype=dtype, pin_memory=self._pinned)

    def _send(self, images: Tensor) -> Tensor:
        # torch keeps the pinned memory until the copy is done.
        return images.to(self.device, non_blocking=self._pinned)

    @property
    def _pinned(self) -> bool:
        return self.device.type == "cuda"


class _Batch:
    """A batch that threads are making; the first of them to know the shape allocates it."""

    def __init__(self, size: int, empty: Callable[[tuple[int, ...], torch.dtype], Tensor]) -> None:
        self.tasks: list[Future[None]] = []
        self._size = size
        self._empty = empty
        self._lock = threading.Lock()
        self._images: Tensor | None = None

    def __len__(self) -> int:
        return self._size

    def room(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        with self._lock:
            if self._images is None:
                self._images = self._empty((self._size, *shape), dtype)
            return self._images

    def images(self) -> Tensor:
        """Return the images; wait for the last one."""
        for task in self.tasks:
            task.result()
        assert self._images is not None
        return self._images


@contextmanager
def running_threads(number: int) -> Iterator[ThreadPoolExecutor]:
    """Run threads inside the block; 0 is one per core."""
    ignore_metadata_warnings()
    pool = ThreadPoolExecutor(number or min(MOST_THREADS, os.cpu_count() or 1), "images")
    try:
        yield pool
    finally:  # an interrupt must not wait for what is still in the queue
        pool.shutdown(cancel_futures=True)


def in_order(count: int, size: int) -> Iterator[Wanted]:
    """Yield the numbers 0 .. count - 1 in batches of ``size``."""
    for start in range(0, count, size):
        yield torch.arange(start, min(start + size, count)), 0
