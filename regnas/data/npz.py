"""Reading npz files that nobody vouches for.

An npz is a zip of arrays, each with a header that says how much memory it needs. numpy believes the header, and zip
expands a thousandfold: both are checked against the file before anything is allocated. Pickles are never read.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from regnas.errors import DataError

# Flat drawings compress a hundredfold; only a file made for it goes beyond, and a small one may.
LARGEST_EXPANSION = 200
ALWAYS_ALLOWED = 64 * 2**20
DAMAGE = (ValueError, OSError, EOFError, KeyError, SyntaxError, zipfile.BadZipFile, zlib.error, NotImplementedError)


class NpzFile:
    """``with NpzFile(path) as file: file["key"]``; every problem is a DataError that names the file and the key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise DataError(f"the array file {path} does not exist")
        try:
            self._zip = zipfile.ZipFile(path)
        except DAMAGE as error:
            raise DataError(f"{path} is not an npz file ({error}): write it with numpy.savez") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def __contains__(self, key: str) -> bool:
        return f"{key}.npy" in self._zip.namelist()

    def __getitem__(self, key: str) -> NDArray[Any]:
        if key not in self:
            held = ", ".join(name.removesuffix(".npy") for name in self._zip.namelist()) or "nothing"
            raise DataError(f"{self.path} has no {key}; it holds {held}")
        member = self._zip.getinfo(f"{key}.npy")
        if member.file_size > max(ALWAYS_ALLOWED, LARGEST_EXPANSION * member.compress_size):
            raise DataError(
                f"{key} in {self.path} would expand from {member.compress_size:,} to {member.file_size:,} bytes: "
                f"refused, it looks made to exhaust the memory; if it is meant, write it uncompressed, with numpy.savez"
            )
        try:
            with self._zip.open(member) as source:
                shape, kind = _header(source)
                announced = math.prod(shape) * kind.itemsize
                present = member.file_size - source.tell()
                if announced != present:
                    raise ValueError(f"its header announces {announced:,} bytes, there are {present:,}")
                source.seek(0)
                # a fresh, writable array: torch warns of read-only ones
                return npy.read_array(source, allow_pickle=False)
        except DAMAGE as error:
            raise DataError(f"{key} in {self.path} cannot be read: {error}") from None


def _header(source: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    major, _ = npy.read_magic(source)
    read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
    shape, _, kind = read(source)
    if kind.hasobject:
        raise ValueError("it holds Python objects, which are not read")
    if any(side < 0 for side in shape):
        raise ValueError(f"its shape is {list(shape)}")
    return shape, kind
