"""Texts of different lengths in one array of bytes, which are processed all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.files.columns import check_width
from regnas.errors import ArtifactError
from regnas.runtime.randomness import generator

WORD = 8  # bytes that are processed at once
LONG = 32 * WORD  # longer texts are processed one by one; a file cannot have many of them

# Masks that keep the first 0 to 8 bytes of a word.
_KEPT = np.array([2 ** (8 * kept) - 1 for kept in range(WORD + 1)], dtype=np.uint64)

# Multipliers of the words after the first, which has the multiplier 1: up to 8 bytes are their own fingerprint.
_MULTIPLIERS = generator("comparison", "texts").integers(0, 2**63, LONG // WORD - 1, dtype=np.uint64) * 2 + 1


@dataclass(frozen=True, eq=False)
class Packed:
    """N texts in UTF-8, one directly after another.

    content: [B]
    lengths: [N], in bytes
    """

    content: NDArray[np.uint8]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> Packed:
        """Pack encoded texts."""
        return cls(np.frombuffer(b"".join(texts), np.uint8), np.fromiter(map(len, texts), np.int64, len(texts)))

    def count_characters(self) -> NDArray[np.int64]:
        """Return the number of characters of each text: [N]."""
        if not (self.content > 127).any():
            return self.lengths
        ends = np.cumsum(self.lengths)
        before = np.concatenate([[0], np.cumsum((self.content & 0xC0) != 0x80)])  # all other bytes start a character
        return np.asarray(before[ends] - before[ends - self.lengths])

    def characters(self) -> NDArray[np.uint8] | NDArray[np.uint32]:
        """Return the code points of all texts, one after another."""
        if not (self.content > 127).any():
            return self.content
        return np.frombuffer(self.content.tobytes().decode("utf-8").encode("utf-32-le"), "<u4")


@dataclass(frozen=True, eq=False)
class Texts:
    """N texts in UTF-8: the n-th is data[starts[n]:ends[n]].

    data: [B], with at least 8 bytes after the end of every text, so that whole words can be read
    starts, ends: [N]
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> Texts:
        """Join encoded texts."""
        packed = Packed.of([*texts, bytes(WORD)])
        ends = np.cumsum(packed.lengths)[:-1]
        return cls(packed.content, ends - packed.lengths[:-1], ends)

    @classmethod
    def of_strings(cls, texts: Sequence[str]) -> Texts:
        """Encode texts, all at once unless they contain NUL characters, which separate them here."""
        data = np.frombuffer("\0".join([*texts, ""]).encode("utf-8") + bytes(WORD), np.uint8)
        ends = np.flatnonzero(data[:-WORD] == 0)
        if len(ends) != len(texts):
            return cls.of([text.encode("utf-8") for text in texts])
        return cls(data, np.concatenate([np.zeros(1, np.int64), ends + 1])[:-1], ends)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """[N], in bytes."""
        return self.ends - self.starts

    def take(self, rows: NDArray[np.int64]) -> Texts:
        """Return the texts of these rows."""
        return Texts(self.data, self.starts[rows], self.ends[rows])

    def words(self, number: int) -> NDArray[np.uint64]:
        """Return the eight bytes from 8 * number of each text as integers [N], the first byte lowest, 0 after the end.

        Every text must have at least 8 * number bytes.
        """
        at = self.starts + WORD * number
        every = np.ndarray((len(self.data) - WORD + 1,), "<u8", self.data, strides=(1,))  # at every byte a word
        found = every[at].astype(np.uint64, copy=False)
        return np.asarray(found & _KEPT[np.minimum(self.ends - at, WORD)])

    def packed(self) -> Packed:
        """Return the same texts without anything between them."""
        lengths = self.lengths
        after = np.cumsum(lengths)
        total = int(after[-1]) if len(after) else 0
        return Packed(self.data[np.arange(total) + np.repeat(self.starts - after + lengths, lengths)], lengths)

    def padded(self) -> NDArray[np.bytes_]:
        """Return the texts as an array [N] that is as wide as the longest, in whole words."""
        words = _words(self, int(self.lengths.max(initial=0)))
        held = np.zeros((len(self), len(words)), dtype="<u8")
        for number, (rows, word) in enumerate(words):
            held[rows, number] = word
        return held.view(f"S{WORD * len(words)}").reshape(-1)

    def tolist(self) -> list[bytes]:
        """Return the texts as a list."""
        data = self.data.tobytes()
        return [data[start:end] for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]


def representatives(texts: Texts) -> NDArray[np.int64]:
    """Return for each text the place of an equal text: [N]. Equal texts often, but not always, share a place.

    A text that is longer than ``LONG`` represents itself.
    """
    words = _words(texts, LONG)
    found = _same_prints(_fingerprints(words))
    lengths = texts.lengths
    equal = (lengths == lengths[found]) & (lengths <= LONG)
    for rows, held in words if len(words) > 1 else ():  # one word is its own fingerprint
        if len(held) == len(texts):
            equal &= held == held[found]
        else:
            undecided = rows[equal[rows]]
            place = np.zeros(len(texts), dtype=np.int64)
            place[rows] = np.arange(len(rows))
            equal[undecided] = held[place[undecided]] == held[place[found[undecided]]]
    return np.where(equal, found, np.arange(len(texts)))


def fingerprints(texts: Texts) -> NDArray[np.uint64]:
    """Return the fingerprint of the first ``LONG`` bytes of each text: [N].

    For a text of words w_k, it is the sum over k of w_k * m_k modulo 2^64, with odd multipliers m_k.
    """
    return _fingerprints(_words(texts, LONG))


def lay_out(parts: Sequence[Packed], where: str) -> NDArray[np.str_]:
    """Convert texts to an array of characters, one part after another."""
    if any((part.content == 0).any() for part in parts):
        raise ArtifactError(f"{where} must have texts without NUL characters, got some with them")
    lengths = [part.count_characters() for part in parts]
    samples, width = sum(map(len, lengths)), max([1, *(int(each.max(initial=0)) for each in lengths)])
    check_width(samples, width, where)
    rows = np.zeros((samples, width), dtype=np.uint32)
    done = 0
    for part, length in zip(parts, lengths, strict=True):
        rows[done : done + len(length)][np.arange(width) < length[:, None]] = part.characters()
        done += len(length)
    return rows.view(f"U{width}").reshape(-1)


def _words(texts: Texts, most: int) -> list[tuple[NDArray[np.int64], NDArray[np.uint64]]]:
    """Return, for each word of the first ``most`` bytes, the rows of the texts that have it [M], and the words [M]."""
    lengths = texts.lengths
    words = [(np.arange(len(texts)), texts.words(0))]
    for number in range(1, -(-min(int(lengths.max(initial=0)), most) // WORD)):
        rows = np.flatnonzero(lengths > WORD * number)
        words.append((rows, (texts.take(rows) if len(rows) < len(texts) else texts).words(number)))
    return words


def _fingerprints(words: list[tuple[NDArray[np.int64], NDArray[np.uint64]]]) -> NDArray[np.uint64]:
    prints = words[0][1].copy()
    for (rows, held), multiplier in zip(words[1:], _MULTIPLIERS, strict=False):
        prints[rows if len(rows) < len(prints) else slice(None)] += held * multiplier
    return prints


def _same_prints(prints: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return for each fingerprint the place of an equal one, the same place for all equal ones: [N].

    Most are found without sorting. Each fingerprint selects a slot, and the last one that selects a slot gets it. The
    fingerprints that find another one in their slot are sorted; they are few unless there are many different ones.
    """
    slots = ((prints * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(48)).astype(np.int64)
    owner = np.zeros(2**16, dtype=np.int64)
    owner[slots] = np.arange(len(prints))
    found = owner[slots]
    rest = np.flatnonzero(prints[found] != prints)
    if len(rest):
        _, first, inverse = np.unique(prints[rest], return_index=True, return_inverse=True)
        found[rest] = rest[first[inverse]]
    return found
