"""Split a CSV file into fields (RFC 4180), all fields of some megabytes at once.

Commas and line breaks separate fields if the number of quotes before them is even. A quote opens a field at its start
and closes it at its end. Inside a quoted field, two quotes stand for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.files.text_files import open_text
from regnas.comparison.files.texts import WORD, Texts
from regnas.errors import ArtifactError

LONGEST_ROW = 2**23

COMMA, QUOTE, LINE_FEED, CARRIAGE_RETURN = b',"\n\r'


@dataclass(frozen=True, eq=False)
class Rows:
    """Whole rows: the field c of row n is data[starts[n, c]:ends[n, c]], without its quotes.

    data: [B]
    starts, ends: [N, C]
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    def first(self) -> Texts:
        """Return the fields of the first row."""
        return Texts(self.data, self.starts[0], self.ends[0])

    def after(self, rows: int) -> Rows:
        """Return the rows without the first ``rows`` ones."""
        return Rows(self.data, self.starts[rows:], self.ends[rows:])

    def fields(self, *columns: int) -> Texts:
        """Return the fields of these columns, row by row."""
        return Texts(self.data, self.starts[:, columns].reshape(-1), self.ends[:, columns].reshape(-1))


class _Unusable(Exception):
    """The reason, after the row in which it is."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(f"{f'row {row:,}' if row else 'the header'} {reason}")


def read_rows(path: Path, block: int) -> Iterator[Rows]:
    """Yield the rows of a file in order, several at a time; the first one is the header. Blank lines are left out."""
    try:
        yield from _read_rows(path, block)
    except (OSError, _Unusable) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ArtifactError(f"{path} is damaged or not a CSV file: {reason}") from None


def _read_rows(path: Path, block: int) -> Iterator[Rows]:
    done, columns, rest = 0, 0, b""
    with open_text(path) as source:
        while read := source.read(max(block, len(rest))):
            rows, rest = _split(rest + read, done, columns)
            if len(rest) > LONGEST_ROW:
                raise _Unusable(done + len(rows), f"must have at most {LONGEST_ROW:,} bytes. Is a quote not closed?")
            if len(rows):
                yield rows
                done, columns = done + len(rows), rows.starts.shape[1]
    if rest:
        rows, rest = _split(rest + b"\n", done, columns)
        if rest:
            raise _Unusable(done + len(rows), "has a quote that is not closed")
        yield rows


def _split(content: bytes, done: int, columns: int) -> tuple[Rows, bytes]:
    """Split the whole rows of ``content``, which follow ``done`` rows of ``columns`` fields; also return the rest."""
    data = np.frombuffer(content + bytes(WORD), np.uint8)
    marks = np.flatnonzero((data == COMMA) | (data == LINE_FEED) | (data == CARRIAGE_RETURN) | (data == QUOTE))
    kinds = data[marks]
    is_quote = kinds == QUOTE
    within = np.logical_xor.accumulate(is_quote)  # whether a quote opens, and whether anything else is quoted
    is_break = (kinds != COMMA) & ~is_quote & ~within
    count = int(np.flatnonzero(is_break)[-1]) + 1 if is_break.any() else 0
    length = int(marks[count - 1]) + 1 if count else 0

    separators = np.flatnonzero(~is_quote[:count] & ~within[:count])
    ends, ends_row = marks[separators], is_break[separators]
    starts = np.concatenate([[0], ends + 1])[:-1]
    blank = ends_row & np.concatenate([[True], ends_row])[:-1] & (starts == ends)  # also between "\r" and "\n"
    if blank.any():
        starts, ends, ends_row = starts[~blank], ends[~blank], ends_row[~blank]
    last = np.flatnonzero(ends_row)  # [N], the last field of each row

    def row_of(position: int) -> int:
        return done + int(np.searchsorted(ends[last], position))

    _check_text(data[:length], row_of)
    doubled = _check_quotes(marks, is_quote, within, len(content), row_of)
    fields = np.diff(last, prepend=-1)  # [N], the number of fields in each row
    columns = columns or int(fields[:1].sum())
    wrong = np.flatnonzero(fields != columns)
    if len(wrong):
        row, found = done + int(wrong[0]), fields[wrong[0]]
        raise _Unusable(row, f"must have {columns:,} fields like the header, got {found:,}")

    is_quoted = data[starts] == QUOTE
    starts, ends = starts + is_quoted, ends - is_quoted
    if len(doubled):
        data = np.delete(data, doubled)
        starts, ends = starts - np.searchsorted(doubled, starts), ends - np.searchsorted(doubled, ends)
    return Rows(data, starts.reshape(len(last), columns), ends.reshape(len(last), columns)), content[length:]


def _check_text(data: NDArray[np.uint8], row_of: Callable[[int], int]) -> None:
    if data.min(initial=1) == 0:
        raise _Unusable(row_of(int(np.argmin(data))), "has a NUL character")
    if data.max(initial=0) > 127:
        try:
            data.tobytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise _Unusable(row_of(error.start), f"must be UTF-8, got the byte 0x{data[error.start]:02x}") from None


def _check_quotes(
    marks: NDArray[np.int64],
    is_quote: NDArray[np.bool_],
    within: NDArray[np.bool_],
    length: int,
    row_of: Callable[[int], int],
) -> NDArray[np.int64]:
    """Return the places of the quotes that double another one; refuse quotes that are not at an edge of a field.

    At an edge, the next mark on the outer side is the very next byte: a separator, or the other quote of two.
    """
    quotes = np.flatnonzero(is_quote)
    places, opens = marks[quotes], within[quotes]
    follows = np.concatenate([[-1], marks])[quotes] == places - 1
    precedes = np.concatenate([marks, [length]])[quotes + 1] == places + 1
    stray = places[np.where(opens, ~follows, ~precedes)]
    if len(stray):
        raise _Unusable(
            row_of(int(stray[0])), "has a quote inside a field. Put the whole field in quotes, and double the quote."
        )
    return np.asarray(places[opens & follows & np.concatenate([[False], is_quote])[quotes]])
