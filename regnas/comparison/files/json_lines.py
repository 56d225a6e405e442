"""Predictions as JSON lines: one object per sample."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.files.collecting import CodedTexts, IdTexts, SliceTexts, join
from regnas.comparison.files.columns import (
    COMPLETE,
    ID,
    SCORES,
    Column,
    Content,
    as_rows,
    refuse_missing,
    with_gaps,
)
from regnas.comparison.files.json_objects import KINDS, Objects, read_objects
from regnas.comparison.files.text_files import BLOCK, FIRST_BLOCK, check_file_size
from regnas.comparison.files.texts import Texts
from regnas.errors import ArtifactError


class JsonLinesFile:
    """An opened file of JSON lines. Columns and their types are those of the first object.

    Keys that only later objects have are not read. If an object has a key twice, the last value counts.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        check_file_size(path)
        first = next(read_objects(path, FIRST_BLOCK), None)
        if first is None:
            raise ArtifactError(f"{path} must have one object per sample, got blank lines")
        self._first = first.objects[0]

    @property
    def columns(self) -> Sequence[str]:
        for name in COMPLETE:
            if self._first.get(name, "") is None:
                raise ArtifactError(f'{self.path}: key "{name}" has no value in the first line')
        return [name for name, value in self._first.items() if type(value) in KINDS and not isinstance(value, list)]

    @property
    def scores(self) -> Sequence[str]:
        return [name for name in SCORES if isinstance(self._first.get(name), list)]

    def read(self, columns: Sequence[str], scores: str | None) -> Content:
        """Read these keys and scores, block by block."""
        read = {name: _collector(name, type(self._first[name])) for name in columns}
        lists = _Scores(scores) if scores else None
        for objects in read_objects(self.path, BLOCK):
            for column in read.values():
                column.add(objects)
            if lists:
                lists.add(objects)
        where = f'{self.path}: key "{{}}"'.format
        return Content(
            {name: column.column(where(name)) for name, column in read.items()},
            lists.rows(where(scores)) if lists else None,
        )


class _Texts:
    def __init__(self, name: str) -> None:
        self._name = name
        self._texts = IdTexts() if name == ID else CodedTexts() if name in COMPLETE else SliceTexts()
        self._missing: list[NDArray[np.bool_]] = []

    def add(self, objects: Objects) -> None:
        values, missing = objects.values(self._name, str)
        self._texts.add(Texts.of_strings([value or "" for value in values] if missing.any() else values))
        self._missing.append(missing)

    def column(self, where: str) -> Column | str:
        if self._name in COMPLETE:
            refuse_missing(join(self._missing), where)
        return self._texts.column(where)


class _Numbers:
    """Integers, numbers or booleans, as the first object has them."""

    def __init__(self, name: str, kind: type) -> None:
        self._name = name
        self._kind = kind
        self._values: list[NDArray[Any]] = []
        self._missing: list[NDArray[np.bool_]] = []

    def add(self, objects: Objects) -> None:
        values, missing = objects.values(self._name, self._kind)
        held = [value or 0 for value in values] if missing.any() else values
        try:
            self._values.append(np.array(held, dtype=self._kind))
        except OverflowError:
            objects.refuse(self._name, self._kind, held, lambda value: _overflows(value, self._kind))
        self._missing.append(missing)

    def column(self, where: str) -> Column | str:
        missing = join(self._missing)
        if self._name in COMPLETE:
            refuse_missing(missing, where)
        return with_gaps(join(self._values), missing)


class _Scores:
    """Lists of numbers, which must all have the same length."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._values: list[NDArray[np.float32]] = []
        self._lengths: list[NDArray[np.int64]] = []
        self._missing: list[NDArray[np.bool_]] = []

    def add(self, objects: Objects) -> None:
        values, missing = objects.values(self._name, list)
        lists = [each or [] for each in values] if missing.any() else values
        flat = list(chain.from_iterable(lists))
        if not set(map(type, flat)) <= {float, int, NoneType}:
            objects.refuse(self._name, list, lists, lambda each: not set(map(type, each)) <= {float, int, NoneType})
        try:
            with np.errstate(over="ignore"):  # becomes infinite, which is refused
                self._values.append(np.array(flat, dtype=np.float64).astype(np.float32))  # None becomes NaN
        except OverflowError:
            objects.refuse(self._name, list, lists, lambda each: _overflows(each, float))
        self._lengths.append(np.fromiter(map(len, lists), np.int64, len(lists)))
        self._missing.append(missing)

    def rows(self, where: str) -> NDArray[np.float32]:
        refuse_missing(join(self._missing), where)
        return as_rows(join(self._values), join(self._lengths), where)


def _collector(name: str, kind: type) -> _Texts | _Numbers:
    return _Texts(name) if kind is str else _Numbers(name, kind)


def _overflows(value: Any, kind: type) -> bool:
    try:
        np.array(value, dtype=kind)
    except OverflowError:
        return True
    return False
