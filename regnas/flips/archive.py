"""Named arrays in one npz file, read without trusting it.

A zip can promise more than it holds: a header that declares terabytes, a member that unpacks to a thousand times its
size, pickled objects that run code. Sizes, kinds and dimensions are therefore checked from the headers, before any
memory is taken for the content.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from regnas.errors import ArtifactError
from regnas.runtime.files import write_through

SIZE_LIMIT = 4 * 2**30

# What zipfile and numpy raise on bytes that are not what they should be; RuntimeError covers encrypted members and
# headers nested too deep.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ValueError,
    TypeError,
    OverflowError,
    EOFError,
    RuntimeError,
)

KIND_WORDS = {"U": "text", "i": "integers", "u": "integers", "f": "floating point numbers"}


@dataclass(frozen=True)
class ArraySpec:
    """What an array of the file must look like: the kinds of numpy dtype allowed and the number of dimensions."""

    kinds: str
    dimensions: int
    required: bool = True


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write an npz whose bytes depend on the content only: members are stored in order and dated 1980-01-01."""

    def write(temporary: Path) -> None:
        with (
            temporary.open("wb") as sink,
            zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED, allowZip64=True) as archive,
        ):
            for name, array in arrays.items():
                # An explicit ZipInfo, because this date and not the clock's is what makes two saves identical.
                info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
                with archive.open(info, "w", force_zip64=True) as member:
                    npy.write_array(member, array, allow_pickle=False)

    write_through(path, write)


def read_arrays(path: Path, specs: Mapping[str, ArraySpec], size_limit: int = SIZE_LIMIT) -> dict[str, NDArray[Any]]:
    """The arrays that ``specs`` names; those not required may be absent, and others in the file are not read."""
    try:
        with path.open("rb") as source, zipfile.ZipFile(source) as archive:
            total = sum(info.file_size for info in archive.infolist())
            if total > size_limit:
                raise ArtifactError(f"{path} would unpack to {total:,} bytes, over the limit of {size_limit:,}")
            present = set(archive.namelist())
            missing = [name for name, spec in specs.items() if spec.required and f"{name}.npy" not in present]
            if missing:
                raise ArtifactError(f"{path} lacks the array {', '.join(missing)}: it is not a file of predictions")
            wanted = {name: spec for name, spec in specs.items() if f"{name}.npy" in present}
            return {name: _read_member(archive, name, spec, path) for name, spec in wanted.items()}
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing") from None
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror or error}") from None
    except DAMAGE as error:
        raise ArtifactError(f"{path} is damaged or not an npz file: {_first_line(error)}") from None


def _read_member(archive: zipfile.ZipFile, name: str, spec: ArraySpec, path: Path) -> NDArray[Any]:
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ArtifactError(f'{path}: array "{name}" is packed by a method that numpy never uses')
    try:
        with archive.open(info) as member:
            problem = _header_problem(member, spec, info.file_size)
        if problem:
            raise ArtifactError(f'{path}: array "{name}" {problem}')
        with archive.open(info) as member:
            array: NDArray[Any] = npy.read_array(member, allow_pickle=False)
    except DAMAGE as error:
        raise ArtifactError(f'{path}: array "{name}" is damaged: {_first_line(error)}') from None
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "U" and not _is_unicode(array):
        raise ArtifactError(f'{path}: array "{name}" is damaged: its text is not Unicode')
    return array


def _is_unicode(text: NDArray[np.str_]) -> bool:
    """Whether all characters exist: numpy keeps any 32 bits, and Python fails on them only when they are shown."""
    codes = np.ascontiguousarray(text).reshape(-1).view(np.uint32)
    return not bool(((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))).any())


def _header_problem(member: IO[bytes], spec: ArraySpec, file_size: int) -> str:
    """What is wrong with an array according to its npy header, or nothing."""
    version = npy.read_magic(member)
    if version not in ((1, 0), (2, 0)):
        return f"has npy version {version[0]}.{version[1]}, expected 1.0 or 2.0"
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        shape, _, dtype = read_header(member)
    except MemoryError:  # Python's parser gives up this way; a header of 10 kB cannot exhaust the machine
        return "has a header that cannot be parsed"
    if dtype.hasobject:
        return "holds pickled Python objects, which are never loaded"
    if dtype.kind not in spec.kinds or dtype.itemsize == 0:
        expected = " or ".join(dict.fromkeys(KIND_WORDS[kind] for kind in spec.kinds))
        return f"has dtype {dtype}, expected {expected}"
    if len(shape) != spec.dimensions or min(shape, default=0) < 0:
        return f"has shape {shape}, expected {spec.dimensions} dimension(s)"
    declared, held = math.prod(shape) * dtype.itemsize, file_size - member.tell()
    if declared != held:
        return f"declares {declared:,} bytes in its header but the file holds {held:,}"
    return ""


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
