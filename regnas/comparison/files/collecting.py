"""Columns that are collected while a file is read block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.files.columns import MOST_VALUES, Coded, Column, too_many
from regnas.comparison.files.numbers import to_integers
from regnas.comparison.files.texts import LONG, Packed, Texts, fingerprints, lay_out, representatives
from regnas.errors import ArtifactError


class CodedTexts:
    """Texts that repeat, such as classes and clusters."""

    def __init__(self) -> None:
        self._code_of: dict[bytes, int] = {}
        self._codes: list[NDArray[np.int64]] = []

    def add(self, texts: Texts) -> None:
        found = representatives(texts)
        is_one = np.zeros(len(texts), dtype=np.bool_)
        is_one[found] = True
        held = self._code_of
        codes = [held.setdefault(text, len(held)) for text in texts.take(np.flatnonzero(is_one)).tolist()]
        self._codes.append(np.array(codes, dtype=np.int64)[np.cumsum(is_one)[found] - 1])

    def column(self, where: str) -> Column | str:
        return Coded(joined(self._codes), lay_out([Packed.of(list(self._code_of))], where))


class SliceTexts(CodedTexts):
    """Texts that may be a slice; of more different ones than a slice may have, only their number is kept."""

    def __init__(self) -> None:
        super().__init__()
        self._prints: list[NDArray[np.uint64]] = []

    def add(self, texts: Texts) -> None:
        if self._prints:
            self._count(texts)
            return
        super().add(texts)
        if len(self._code_of) > MOST_VALUES:
            self._count(Texts.of(list(self._code_of)))
            self._code_of, self._codes = {}, []

    def column(self, where: str) -> Column | str:
        if self._prints:
            return too_many(len(np.unique(joined(self._prints))))
        try:
            return super().column("it")
        except ArtifactError as error:
            return str(error)

    def _count(self, texts: Texts) -> None:
        """Two texts of one fingerprint count as one, which is rare, and the number is only shown."""
        prints = fingerprints(texts)
        rows = np.flatnonzero(texts.lengths > LONG)
        prints[rows] = [hash(text) % 2**64 for text in texts.take(rows).tolist()]
        self._prints.append(np.unique(prints))


class IdTexts:
    """Texts of which each occurs once."""

    def __init__(self) -> None:
        self._parts: list[Packed] = []

    def add(self, texts: Texts) -> None:
        self._parts.append(texts.packed())

    def column(self, where: str) -> Column | str:
        return lay_out(self._parts, where)


class InferredIds(IdTexts):
    """Integers if all of them are written as Python writes integers, else texts."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: list[NDArray[np.int64]] = []

    def add(self, texts: Texts) -> None:
        numbers = None if self._parts else to_integers(texts)
        if numbers is not None:
            self._numbers.append(numbers)
            return
        for earlier in self._numbers:
            self._parts.append(Packed.of([b"%d" % number for number in earlier.tolist()]))
        self._numbers = []
        super().add(texts)

    def column(self, where: str) -> Column | str:
        return super().column(where) if self._parts else joined(self._numbers)


def joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """The parts one after another; of none, an empty array."""
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
