"""Names of image files with their sizes and times, as objects and as columns."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ListedImage:
    """A file that is not read yet; its size and time show whether it changed since it was last read."""

    name: str  # "train/cat/0001.jpg", below the folder of the data set
    class_name: str
    size: int
    modified: int  # nanoseconds


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Listed images as columns: a million images take 50 MB, also if they are sent to another process."""

    names: NDArray[np.bytes_]  # [N], UTF-8
    sizes: NDArray[np.int64]  # [N]
    times: NDArray[np.int64]  # [N], nanoseconds

    @classmethod
    def of(cls, listed: Sequence[ListedImage]) -> ImageFiles:
        """Convert listed images to columns."""
        return cls(
            names=np.array([image.name.encode() for image in listed], dtype=np.bytes_),
            sizes=np.array([image.size for image in listed], dtype=np.int64),
            times=np.array([image.modified for image in listed], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.names)

    def name(self, index: int) -> str:
        """Return the name of one image."""
        return bytes(self.names[index]).decode()

    def sha256(self, prefix: str) -> str:
        """Return the sha256 of a prefix and of the names, sizes and times."""
        content = hashlib.sha256(prefix.encode())
        content.update(b"\0".join(self.names.tolist()))
        for numbers in (self.sizes, self.times):
            content.update(np.ascontiguousarray(numbers, dtype="<i8").data)
        return content.hexdigest()

    def part(self, indices: NDArray[np.int64] | slice) -> ImageFiles:
        """Return some of the images."""
        return ImageFiles(self.names[indices], self.sizes[indices], self.times[indices])
