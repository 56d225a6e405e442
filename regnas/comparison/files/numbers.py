"""Convert texts to numbers, many at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.files.columns import NOTHING
from regnas.comparison.files.texts import WORD, Texts

MOST_DIGITS = 19  # of an integer of 64 bits
WIDEST = 4 * WORD  # bytes of a number that is converted together with others

_ZEROS = np.uint64(0x3030303030303030)  # "00000000"


def to_integers(texts: Texts) -> NDArray[np.int64] | None:
    """Convert texts to integers [N]; return None unless all are written as Python writes integers of 64 bits.

    Other forms are not converted, because "007" as a number would become "7".
    """
    negative = texts.data[texts.starts] == ord("-")
    starts = texts.starts + negative
    digits = texts.ends - starts
    zero_first = texts.data[starts] == ord("0")
    if ((digits < 1) | (digits > MOST_DIGITS) | (zero_first & ((digits > 1) | negative))).any():
        return None
    # the digits that do not fill a word come first, then whole words
    ends = starts + digits % WORD
    head = Texts(texts.data, starts, ends).words(0) << (8 * (WORD - digits % WORD)).astype(np.uint64)
    values, valid = _eight_digits(head | _ZEROS >> (8 * (digits % WORD)).astype(np.uint64))
    for number in range(int(digits.max(initial=0)) // WORD):
        rows = np.flatnonzero(digits // WORD > number)
        words = Texts(texts.data, ends[rows], texts.ends[rows]).words(number)
        further, are_digits = _eight_digits(words)
        valid[rows] &= are_digits
        values[rows] = values[rows] * np.uint64(10**8) + further
    if not valid.all() or (values > np.uint64(2**63 - 1) + negative).any():
        return None
    return np.where(negative, np.uint64(0) - values, values).view(np.int64)


def to_floats(texts: Texts) -> tuple[NDArray[np.float32], int | None]:
    """Convert texts to numbers [N], NaN for missing ones; also return the place of the first that is not a number."""
    with np.errstate(over="ignore"):  # becomes infinite, which is refused
        if texts.lengths.max(initial=0) <= WIDEST:
            try:
                return texts.padded().astype(np.float32), None
            except ValueError:
                pass
        values = np.full(len(texts), np.nan, dtype=np.float32)
        for place, cell in enumerate(texts.tolist()):
            try:
                values[place] = float(cell)
            except ValueError:
                if cell.decode("utf-8").strip().lower() not in NOTHING:
                    return values, place
    return values, None


def _eight_digits(words: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return the numbers [N] of eight digits each, the first digit in the lowest byte, and whether all are digits."""
    high = np.uint64(0xF0F0F0F0F0F0F0F0)
    valid = (words & high == _ZEROS) & ((words + np.uint64(0x0606060606060606)) & high == _ZEROS)
    pairs = words - _ZEROS
    pairs = pairs * np.uint64(10) + (pairs >> np.uint64(8))  # in every second byte a number of two digits
    bytes_0_and_4 = np.uint64(0x000000FF000000FF)
    first = (pairs & bytes_0_and_4) * np.uint64(100 + (10**6 << 32))
    second = (pairs >> np.uint64(16) & bytes_0_and_4) * np.uint64(1 + (10**4 << 32))
    return (first + second) >> np.uint64(32), valid
