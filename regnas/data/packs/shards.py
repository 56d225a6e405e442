"""One file of a pack: rows of bytes with their checksums, and the images that cannot be read."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.errors import ArtifactError
from regnas.runtime.environment import environment_problem
from regnas.runtime.files import parse_json, write_through
from regnas.runtime.safetensors_headers import StoredTensor, read_header

ROWS, ENDS, CHECKSUMS = "rows", "ends", "checksums"
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # says nothing about the file
PROBLEMS, DIGEST = "problems", "sha256"


@dataclass(frozen=True, eq=False)
class Shard:
    """A file of rows one after the other; the index is in memory, the rows are not."""

    path: Path
    begin: int  # where the rows begin in the file
    ends: NDArray[np.int64]  # [N], where each row ends, from ``begin``
    checksums: NDArray[np.uint32]  # [N], CRC-32
    problems: dict[int, str]  # by row: the name with the reason why it cannot be read

    def length(self, row: int) -> int:
        """Return the number of bytes of a row."""
        start, stop = self._place(row)
        return stop - start

    def read(self, row: int, buffer: bytearray | memoryview) -> bool:
        """Fill a buffer that has the length of the row; return False if the file is gone or the row is damaged.

        Raises:
            EnvironmentProblem: the machine has too many open files or too little memory.
        """
        start, stop = self._place(row)
        try:
            with self.path.open("rb", buffering=0) as source:
                count = os.preadv(source.fileno(), [buffer], self.begin + start)
        except OSError as error:
            if error.errno in EXHAUSTED:
                raise environment_problem(error) from error
            return False
        return count == stop - start and zlib.crc32(buffer) == self.checksums[row]

    def _place(self, row: int) -> tuple[int, int]:
        return int(self.ends[row - 1]) if row else 0, int(self.ends[row])


def write_shard(path: Path, rows: Sequence[bytes], problems: dict[int, str]) -> None:
    """Write a shard, complete or not at all."""
    from safetensors.numpy import save_file  # here, because only making a pack needs it

    ends = np.cumsum([len(row) for row in rows], dtype=np.int64)
    checksums = np.array([zlib.crc32(row) for row in rows], dtype=np.uint32)
    text = json.dumps(problems)
    tensors: dict[str, NDArray[Any]] = {
        ROWS: np.frombuffer(b"".join(rows), dtype=np.uint8),
        ENDS: ends,
        CHECKSUMS: checksums,
    }
    metadata = {PROBLEMS: text, DIGEST: _digest(ends, checksums, text)}
    write_through(path, partial(save_file, tensors, metadata=metadata))


def open_shard(path: Path, count: int) -> Shard | None:
    """Read the index of a shard of ``count`` rows; return None if it is missing.

    Raises:
        ArtifactError: the index is damaged. The rows are checked when they are read.
    """
    if not path.exists():
        return None
    tensors, metadata = read_header(path)
    try:
        rows, ends, checksums = tensors[ROWS], _read(path, tensors[ENDS]), _read(path, tensors[CHECKSUMS])
        if metadata[DIGEST] != _digest(ends, checksums, metadata[PROBLEMS]) or len(ends) != count:
            raise ArtifactError(f"{path} is damaged: its index does not match its own digest")
        problems = {int(row): str(problem) for row, problem in parse_json(metadata[PROBLEMS]).items()}
    except (KeyError, ValueError) as error:
        raise ArtifactError(f"{path} is damaged: it is not a shard of a pack ({error})") from None
    return Shard(path, rows.start, ends, checksums, problems)


def _read(path: Path, tensor: StoredTensor) -> NDArray[Any]:
    count = (tensor.stop - tensor.start) // tensor.dtype.itemsize
    return np.fromfile(path, tensor.dtype, count, offset=tensor.start)


def _digest(ends: NDArray[np.int64], checksums: NDArray[np.uint32], problems: str) -> str:
    content = hashlib.sha256(problems.encode())
    content.update(ends.data)
    content.update(checksums.data)
    return content.hexdigest()
