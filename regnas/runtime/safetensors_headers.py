"""Read the header of a safetensors file, without torch and without trusting the file.

A file consists of the length of the header (eight bytes), a JSON header and the bytes of the tensors. A wrong header
may declare a false length, shapes that do not fit into any memory, or tensors that overlap. It is therefore accepted
only if it accounts for every byte of the file exactly once. No memory is allocated from the declared sizes: the tensors
are views of the mapped file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.errors import ArtifactError, first_line
from regnas.runtime.files import parse_json

METADATA = "__metadata__"
HEADER_LIMIT = 16 * 2**20
_LENGTH = 8
_ALIGNMENT = 8
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|u1",
}  # fmt: skip


@dataclass(frozen=True)
class StoredTensor:
    """The place of a tensor in its file: bytes ``start`` to ``stop``."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int


def read_header(path: Path) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    """Return the tensors of the file and its metadata; refuse a header that does not account for the whole file."""
    try:
        size = path.stat().st_size
        with path.open("rb") as source:
            length = int.from_bytes(source.read(_LENGTH), "little")
            if size < _LENGTH or length > min(HEADER_LIMIT, size - _LENGTH):
                raise _refusal(path, f"it declares a header of {length:,} bytes and has {size:,} bytes")
            header = parse_json(source.read(length))
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing") from None
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise _refusal(path, f"its header is not JSON: {first_line(error)}") from None
    if not isinstance(header, dict):
        raise _refusal(path, "its header is not a table")
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise _refusal(path, "its metadata is not a table of texts")
    tensors = {name: _stored(name, entry, _LENGTH + length, path) for name, entry in header.items()}
    position = _LENGTH + length
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].start, item[1].stop)):
        if tensor.start != position:
            raise _refusal(path, f'"{name}" begins at byte {tensor.start:,} instead of {position:,}')
        position = tensor.stop
    if position != size:
        raise _refusal(path, f"its tensors end at byte {position:,} of {size:,}")
    return tensors, metadata


def map_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return the tensors as read-only views of the file; bfloat16 and booleans as integers with the same bits."""
    tensors, _ = read_header(path)
    content = np.memmap(path, dtype=np.uint8, mode="r")
    return {
        name: content[tensor.start : tensor.stop].view(tensor.dtype).reshape(tensor.shape)
        for name, tensor in tensors.items()
    }


def with_metadata(content: bytes, metadata: Mapping[str, str]) -> bytes:
    """Return the same file with sorted metadata, because safetensors writes it in another order in every process."""
    length = int.from_bytes(content[:_LENGTH], "little")
    header = {METADATA: dict(sorted(metadata.items())), **json.loads(content[_LENGTH : _LENGTH + length])}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return len(text).to_bytes(_LENGTH, "little") + text + content[_LENGTH + length :]


def _stored(name: str, entry: Any, begin: int, path: Path) -> StoredTensor:
    try:
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        shape = tuple(entry["shape"])
        start, stop = entry["data_offsets"]
    except (KeyError, TypeError, ValueError):
        raise _refusal(path, f'the entry of "{name}" cannot be understood') from None
    if not all(type(number) is int and number >= 0 for number in (*shape, start, stop)):
        raise _refusal(path, f'shape and place of "{name}" are not integers')
    if math.prod(shape) * dtype.itemsize != stop - start:
        raise _refusal(path, f'"{name}" of shape {list(shape)} does not fill its {stop - start:,} bytes')
    return StoredTensor(dtype, shape, begin + start, begin + stop)


def _refusal(path: Path, problem: str) -> ArtifactError:
    return ArtifactError(f"{path} is not a safetensors file ({problem})")
