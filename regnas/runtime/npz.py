"""Write named arrays into one npz file reproducibly, and read them without trusting the file.

An npz file is a zip of arrays, each with a header that declares its shape and type. A damaged or malicious file may
declare terabytes, unpack to a thousand times its size, or hold pickled objects that run code. Sizes, kinds and
dimensions are therefore checked in the headers, before any memory is allocated for the content.
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

from regnas.errors import RegnasError, first_line
from regnas.runtime.files import write_through

SIZE_LIMIT = 4 * 2**30

# Flat drawings compress a hundredfold. More is suspicious, except in small files.
LARGEST_EXPANSION = 200
ALWAYS_ALLOWED = 64 * 2**20

# The errors of zipfile and numpy for damaged files. numpy's header parser passes on the errors of Python's own parser,
# and RuntimeError covers encrypted members and headers that are nested too deeply.
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
    """The kind and the dimensions that an array of the file must have.

    kinds: the allowed kinds of numpy dtype; "": any except Python objects
    dimensions: their number; None: any number
    """

    kinds: str = ""
    dimensions: int | None = None
    required: bool = True


@dataclass(frozen=True)
class ArrayHeader:
    """Shape and type of an array of the file."""

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
                # An explicit ZipInfo: by default the member has the current time, and two saves differ.
                info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
                with archive.open(info, "w", force_zip64=True) as member:
                    npy.write_array(member, array, allow_pickle=False)

    write_through(path, write)


def read_arrays(
    path: Path, specs: Mapping[str, ArraySpec], refusal: type[RegnasError], size_limit: int = SIZE_LIMIT
) -> dict[str, NDArray[Any]]:
    """Return the arrays that ``specs`` names, writable and in native byte order; other arrays are not read.

    Arrays that are not required may be absent. Every problem is raised as ``refusal``, with the file, the array and the
    reason.
    """
    with _open_archive(path, refusal) as archive:
        for info in archive.infolist():
            # Compares the two names of a member: a flipped bit in one of them would make an optional array disappear.
            archive.open(info).close()
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
    """Return the header of each array by name; None if it cannot be read."""
    headers: dict[str, ArrayHeader | None] = {}
    with _open_archive(path, refusal) as archive:
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
def _open_archive(path: Path, refusal: type[RegnasError]) -> Iterator[zipfile.ZipFile]:
    """Open the archive inside the block; raise every problem inside the block as ``refusal``."""
    try:
        with path.open("rb") as source, zipfile.ZipFile(source) as archive:
            yield archive
    except FileNotFoundError:
        raise refusal(f"{path} is missing") from None
    except OSError as error:
        raise refusal(f"{path} cannot be read: {error.strerror or error}") from None
    except DAMAGE as error:
        raise refusal(f"{path} is damaged or not an npz file, as numpy.savez writes it: {first_line(error)}") from None


def _read_member(
    archive: zipfile.ZipFile, name: str, spec: ArraySpec, path: Path, refusal: type[RegnasError]
) -> NDArray[Any]:
    info = archive.getinfo(f"{name}.npy")
    where = f'{path}: array "{name}"'
    problem = _packing_problem(info, path)
    if problem:
        raise refusal(f"{where} {problem}")
    try:
        with warnings.catch_warnings(action="ignore"):  # about old or odd headers, which are checked below
            with archive.open(info) as member:
                problem = _header_problem(member, spec, info.file_size)
            if problem:
                raise refusal(f"{where} {problem}")
            with archive.open(info) as member:  # opened again: seeking back may switch off the checksum
                array: NDArray[Any] = npy.read_array(member, allow_pickle=False)
    except DAMAGE as error:
        raise refusal(f"{where} is damaged: {first_line(error)}") from None
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "U" and not _is_unicode(array):
        raise refusal(f"{where} is damaged: its text is not Unicode")
    return array


def _packing_problem(info: zipfile.ZipInfo, path: Path) -> str:
    """Return the problem with the compression of an array, or "" if there is none."""
    packed = min(info.compress_size, path.stat().st_size)  # the declared size may be wrong
    if info.file_size > max(ALWAYS_ALLOWED, LARGEST_EXPANSION * packed):
        return (
            f"would expand from {packed:,} to {info.file_size:,} bytes, which may exhaust the memory. "
            "If this is intended, write it uncompressed, with numpy.savez."
        )
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is compressed by a method that numpy never uses"
    return ""


def _header_problem(member: IO[bytes], spec: ArraySpec, file_size: int) -> str:
    """Return the problem that the npy header of an array shows, or "" if there is none."""
    header = _read_header(member)
    if isinstance(header, str):
        return header
    shape, dtype = header.shape, header.dtype
    if dtype.hasobject:
        return "holds pickled Python objects, which are never loaded"
    if spec.kinds and dtype.kind not in spec.kinds:
        expected = " or ".join(dict.fromkeys(KIND_WORDS[kind] for kind in spec.kinds))
        return f"has dtype {dtype}, expected {expected}"
    if dtype.itemsize == 0:  # numpy would allocate one character per element, however many the header declares
        return f"has dtype {dtype}, whose elements have no size"
    if spec.dimensions not in (None, len(shape)):
        return f"has shape {shape}, expected {spec.dimensions} dimension(s)"
    if min(shape, default=0) < 0:
        return f"has shape {shape}, with a negative dimension"
    declared, held = math.prod(shape) * dtype.itemsize, file_size - member.tell()
    if declared != held:
        return f"declares {declared:,} bytes in its header but the file holds {held:,}"
    return ""


def _read_header(member: IO[bytes]) -> ArrayHeader | str:
    """Return the npy header at the beginning of a member, or the problem with it as a text."""
    version = npy.read_magic(member)
    if version not in ((1, 0), (2, 0)):
        return f"has npy version {version[0]}.{version[1]}, expected 1.0 or 2.0"
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        shape, _, dtype = read_header(member)
    except MemoryError:  # how Python's parser gives up; a header of 10 kB cannot exhaust the memory
        return "has a header that cannot be parsed"
    return ArrayHeader(shape, dtype)


def _is_unicode(text: NDArray[np.str_]) -> bool:
    """Whether all characters exist: numpy keeps any 32 bits, and Python fails only when it shows them."""
    codes = np.ascontiguousarray(text).reshape(-1).view(np.uint32)
    if codes.max(initial=0) < 0xD800:  # true of nearly all text, and fast to check
        return True
    return not bool(((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))).any())
