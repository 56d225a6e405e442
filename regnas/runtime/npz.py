"""Named arrays in one npz file, written reproducibly and read without trusting it.

An npz is a zip of arrays, each with a header that says how much memory it needs. A zip can promise more than it holds:
a header that declares terabytes, a member that unpacks to a thousand times its size, pickled objects that run code.
Sizes, kinds and dimensions are therefore checked from the headers, before any memory is taken for the content.
"""

from __future__ import annotations

import math
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from regnas.errors import RegnasError
from regnas.runtime.files import write_through

SIZE_LIMIT = 4 * 2**30

# Flat drawings compress a hundredfold; only a file made for it goes beyond, and a small one may.
LARGEST_EXPANSION = 200
ALWAYS_ALLOWED = 64 * 2**20

# What zipfile and numpy raise on bytes that are not what they should be. The parser of numpy's headers lets the errors
# of Python's own through, and RuntimeError covers encrypted members and headers nested too deep.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    tokenize.TokenError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    OverflowError,
    EOFError,
    RuntimeError,
)

KIND_WORDS = {"U": "text", "i": "integers", "u": "integers", "f": "floating point numbers", "b": "booleans"}


@dataclass(frozen=True)
class ArraySpec:
    """What an array of the file must look like.

    kinds: the kinds of numpy dtype allowed; "": any but Python objects
    dimensions: how many; None: any number
    """

    kinds: str = ""
    dimensions: int | None = None
    required: bool = True


@dataclass(frozen=True)
class ArrayHeader:
    """What an array of the file looks like."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


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


def read_arrays(
    path: Path, specs: Mapping[str, ArraySpec], refusal: type[RegnasError], size_limit: int = SIZE_LIMIT
) -> dict[str, NDArray[Any]]:
    """The arrays that ``specs`` names, writable and in native byte order; others in the file are not read.

    Those not required may be absent. Every problem is raised as ``refusal``, with the file, the array and the reason.
    """
    with _opened(path, refusal) as archive:
        present = archive.namelist()
        missing = [name for name, spec in specs.items() if spec.required and f"{name}.npy" not in present]
        if missing:
            held = ", ".join(name.removesuffix(".npy") for name in present if name.isprintable()) or "nothing"
            raise refusal(f"{path} lacks the array {', '.join(missing)}; it holds {held}")
        wanted = {name: spec for name, spec in specs.items() if f"{name}.npy" in present}
        total = sum(archive.getinfo(f"{name}.npy").file_size for name in wanted)
        if total > size_limit:
            raise refusal(f"{path} would unpack to {total:,} bytes, over the limit of {size_limit:,}")
        return {name: _read_member(archive, name, spec, path, refusal) for name, spec in wanted.items()}


def read_headers(path: Path, refusal: type[RegnasError]) -> dict[str, ArrayHeader | None]:
    """What the arrays of the file look like, by name, without their content; None for one that cannot be read."""
    headers: dict[str, ArrayHeader | None] = {}
    with _opened(path, refusal) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(".npy"):
                continue
            name = info.filename.removesuffix(".npy")
            headers[name] = None
            if not _packing_problem(info, path):
                with warnings.catch_warnings(action="ignore"), archive.open(info) as member:
                    header = _read_header(member)
                headers[name] = header if isinstance(header, ArrayHeader) else None
    return headers


@contextmanager
def _opened(path: Path, refusal: type[RegnasError]) -> Iterator[zipfile.ZipFile]:
    """The archive, with whatever goes wrong inside the block raised as ``refusal``."""
    try:
        with path.open("rb") as source, zipfile.ZipFile(source) as archive:
            yield archive
    except FileNotFoundError:
        raise refusal(f"{path} is missing") from None
    except OSError as error:
        raise refusal(f"{path} cannot be read: {error.strerror or error}") from None
    except DAMAGE as error:
        raise refusal(f"{path} is damaged or not an npz file, as numpy.savez writes it: {_first_line(error)}") from None


def _read_member(
    archive: zipfile.ZipFile, name: str, spec: ArraySpec, path: Path, refusal: type[RegnasError]
) -> NDArray[Any]:
    info = archive.getinfo(f"{name}.npy")
    where = f'{path}: array "{name}"'
    problem = _packing_problem(info, path)
    if problem:
        raise refusal(f"{where} {problem}")
    try:
        with warnings.catch_warnings(action="ignore"):  # of old or odd headers: what matters is whether they are right
            with archive.open(info) as member:
                problem = _header_problem(member, spec, info.file_size)
            if problem:
                raise refusal(f"{where} {problem}")
            with archive.open(info) as member:  # opened again, since seeking back may switch its checksum off
                array: NDArray[Any] = npy.read_array(member, allow_pickle=False)
    except DAMAGE as error:
        raise refusal(f"{where} is damaged: {_first_line(error)}") from None
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "U" and not _is_unicode(array):
        raise refusal(f"{where} is damaged: its text is not Unicode")
    return array


def _packing_problem(info: zipfile.ZipInfo, path: Path) -> str:
    """What is wrong with how an array is packed, or nothing."""
    packed = min(info.compress_size, path.stat().st_size)  # the directory of the zip may lie about the first
    if info.file_size > max(ALWAYS_ALLOWED, LARGEST_EXPANSION * packed):
        return (
            f"would expand from {packed:,} to {info.file_size:,} bytes: refused, it looks made to exhaust the memory; "
            "if it is meant, write it uncompressed, with numpy.savez"
        )
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is packed by a method that numpy never uses"
    return ""


def _header_problem(member: IO[bytes], spec: ArraySpec, file_size: int) -> str:
    """What is wrong with an array according to its npy header, or nothing."""
    header = _read_header(member)
    if isinstance(header, str):
        return header
    shape, dtype = header.shape, header.dtype
    if dtype.hasobject:
        return "holds pickled Python objects, which are never loaded"
    if spec.kinds and dtype.kind not in spec.kinds:
        expected = " or ".join(dict.fromkeys(KIND_WORDS[kind] for kind in spec.kinds))
        return f"has dtype {dtype}, expected {expected}"
    if dtype.itemsize == 0:  # numpy would allocate one character for each of any number of elements
        return f"has dtype {dtype}, whose elements have no size"
    if spec.dimensions not in (None, len(shape)):
        return f"has shape {shape}, expected {spec.dimensions} dimension(s)"
    if min(shape, default=0) < 0:
        return f"has shape {shape}, with a negative side"
    declared, held = math.prod(shape) * dtype.itemsize, file_size - member.tell()
    if declared != held:
        return f"declares {declared:,} bytes in its header but the file holds {held:,}"
    return ""


def _read_header(member: IO[bytes]) -> ArrayHeader | str:
    """The npy header at the beginning of a member, or what is wrong with it."""
    version = npy.read_magic(member)
    if version not in ((1, 0), (2, 0)):
        return f"has npy version {version[0]}.{version[1]}, expected 1.0 or 2.0"
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        shape, _, dtype = read_header(member)
    except MemoryError:  # Python's parser gives up this way; a header of 10 kB cannot exhaust the machine
        return "has a header that cannot be parsed"
    return ArrayHeader(shape, dtype)


def _is_unicode(text: NDArray[np.str_]) -> bool:
    """Whether all characters exist: numpy keeps any 32 bits, and Python fails on them only when they are shown."""
    codes = np.ascontiguousarray(text).reshape(-1).view(np.uint32)
    if codes.max(initial=0) < 0xD800:  # nearly all text, and checked in a fraction of the time
        return True
    return not bool(((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))).any())


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
