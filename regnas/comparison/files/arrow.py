"""Convert columns of Arrow, which is how pyarrow reads Parquet, to arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from regnas.comparison.files.columns import MOST_VALUES, Coded, Column, as_rows, refuse_missing, too_many, with_gaps
from regnas.comparison.files.texts import Packed, lay_out
from regnas.errors import ArtifactError


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a file for Arrow; turn the errors of Arrow into one line."""
    try:
        with pa.OSFile(str(path)) as source:
            yield source
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or (str(error) or type(error).__name__).splitlines()[0]
        raise ArtifactError(f"{path} is damaged or not what its suffix says: {reason}") from None


def is_text(kind: Any) -> bool:
    """Whether a type of Arrow is text, plain or in a dictionary."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_usable(kind: Any) -> bool:
    """Whether a column has one value per sample that can name a class or a slice."""
    return is_text(kind) or bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind))


def to_column(column: Any, where: str, complete: bool) -> Column:
    """Convert a chunked column to codes, integers, floats or booleans; missing values, if allowed, are empty texts."""
    column.validate(full=True)  # reading a damaged file does not check that codes belong to texts and texts are Unicode
    missing = to_numpy(column.is_null())
    if complete:
        refuse_missing(missing, where)
    if not is_text(column.type):
        return with_gaps(to_numpy(column.fill_null(pa.scalar(0).cast(column.type))), missing)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    chunk = _one_chunk(column.unify_dictionaries())
    values = texts(chunk.dictionary, where)
    if chunk.indices.null_count:
        return Coded(to_numpy(chunk.indices.fill_null(len(values))).astype(np.int64), np.append(values, ""))
    return Coded(to_numpy(chunk.indices).astype(np.int64), values)


def to_slice(column: Any) -> Column | str:
    """Convert a column that may be a slice; if it cannot be one, return the reason without converting it."""
    if is_text(column.type):
        found = len(pc.unique(column))
        if found > MOST_VALUES:
            return too_many(found)
    try:
        return to_column(column, "it", False)
    except ArtifactError as error:
        return str(error)


def to_numpy(column: Any) -> NDArray[Any]:
    """Return integers, floating point numbers or booleans as an array, with NaN for missing numbers.

    ``to_numpy`` of pyarrow does the same, but imports pandas if it is installed.
    """
    array = _one_chunk(column)
    if array.null_count:
        array = array.fill_null(float("nan"))
    if pa.types.is_boolean(array.type):
        return to_numpy(array.cast(pa.uint8())).astype(np.bool_)
    kind = np.dtype(array.type.to_pandas_dtype())
    held = array.buffers()[1] if len(array) else b""
    return np.frombuffer(held, kind, count=array.offset + len(array) if len(array) else 0)[array.offset :]


def texts(array: Any, where: str) -> NDArray[np.str_]:
    """Convert texts of Arrow, none of them missing, to an array of characters."""
    array = _one_chunk(array)
    if len(array) == 0:
        return np.empty(0, dtype="U1")
    array.validate(full=True)  # checks that they are Unicode
    offset = np.int64 if pa.types.is_large_string(array.type) else np.int32
    offsets = np.frombuffer(array.buffers()[1], offset)[array.offset : array.offset + len(array) + 1]
    held = array.buffers()[2]
    content = np.frombuffer(held if held is not None else b"", np.uint8)[offsets[0] : offsets[-1]]
    return lay_out([Packed(content, np.diff(offsets).astype(np.int64))], where)


def score_rows(column: Any, where: str) -> NDArray[np.float32]:
    """Convert a column of lists, all of one length C, to an array [N, C]."""
    if column.null_count:
        refuse_missing(to_numpy(column.is_null()), where)
    array = _one_chunk(column)
    flat = array.flatten()
    if not (pa.types.is_floating(flat.type) or pa.types.is_integer(flat.type)):
        raise ArtifactError(f"{where} must hold lists of numbers, got lists of {flat.type}")
    values: NDArray[np.float32] = to_numpy(flat.cast(pa.float32(), safe=False))
    return as_rows(values, to_numpy(pc.list_value_length(array)).astype(np.int64), where)


def _one_chunk(column: Any) -> Any:
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if is_text(column.type) and column.nbytes >= 2**31:
        column = column.cast(pa.large_string())  # the offsets of a string have too few bits
    return column.combine_chunks()
