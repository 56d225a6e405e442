"""Collect columns while a file is read block by block."""

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
        """Add the texts of a block."""
        found = representatives(texts)
        is_one = np.zeros(len(texts), dtype=np.bool_)
        is_one[found] = True
        held = self._code_of
        codes = [held.setdefault(text, len(held)) for text in texts.take(np.flatnonzero(is_one)).tolist()]
        self._codes.append(np.array(codes, dtype=np.int64)[np.cumsum(is_one)[found] - 1])

    def column(self, where: str) -> Column | str:
        """Return all texts that were added."""
        return Coded(join(self._codes), lay_out([Packed.of(list(self._code_of))], where))


class SliceTexts(CodedTexts):
    """Texts that may be a slice; if they have too many different values, only the number of values is kept."""

    def __init__(self) -> None:
        super().__init__()
        self._prints: list[NDArray[np.uint64]] = []

    def add(self, texts: Texts) -> None:
        """Add the texts of a block, or only count their values."""
        if self._prints:
            self._count(texts)
            return
        super().add(texts)
        if len(self._code_of) > MOST_VALUES:
            self._count(Texts.of(list(self._code_of)))
            self._code_of, self._codes = {}, []

    def column(self, where: str) -> Column | str:
        """Return all texts that were added, or the reason why they cannot be a slice."""
        if self._prints:
            return too_many(len(np.unique(join(self._prints))))
        try:
            return super().column("it")
        except ArtifactError as error:
            return str(error)

    def _count(self, texts: Texts) -> None:
        """Count values by fingerprint; two values rarely share one, and the number is only shown."""
        prints = fingerprints(texts)
        rows = np.flatnonzero(texts.lengths > LONG)
        prints[rows] = [hash(text) % 2**64 for text in texts.take(rows).tolist()]
        self._prints.append(np.unique(prints))


class IdTexts:
    """Texts that occur once each."""

    def __init__(self) -> None:
        self._parts: list[Packed] = []

    def add(self, texts: Texts) -> None:
        """Add the texts of a block."""
        self._parts.append(texts.packed())

    def column(self, where: str) -> Column | str:
        """Return all texts that were added."""
        return lay_out(self._parts, where)


class InferredIds(IdTexts):
    """Integers if all of them are written as Python writes integers, else texts."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: list[NDArray[np.int64]] = []

    def add(self, texts: Texts) -> None:
        """Add the texts of a block; after the first text that is not an integer, all ids are texts."""
        numbers = None if self._parts else to_integers(texts)
        if numbers is not None:
            self._numbers.append(numbers)
            return
        for earlier in self._numbers:
            self._parts.append(Packed.of([b"%d" % number for number in earlier.tolist()]))
        self._numbers = []
        super().add(texts)

    def column(self, where: str) -> Column | str:
        """Return the integers, or all texts that were added."""
        return super().column(where) if self._parts else join(self._numbers)


def join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Join arrays; without arrays, return an empty one."""
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
