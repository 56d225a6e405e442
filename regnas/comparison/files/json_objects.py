"""Read the objects of a file of JSON lines, several thousand at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from types import NoneType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from regnas.comparison.files.text_files import open_text, show
from regnas.errors import ArtifactError

LONGEST_LINE = 2**24

# By the type of a value in the first object: the words for the values of its key, and their types.
KINDS: dict[type, tuple[str, tuple[type, ...]]] = {
    str: ("text", (str,)),
    bool: ("true or false", (bool,)),
    int: ("an integer of 64 bits", (int,)),
    float: ("a number", (float, int)),
    list: ("a list of numbers", (list,)),
}

NAMES = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "a boolean", NoneType: "null"}


@dataclass(frozen=True)
class Objects:
    """Objects that follow each other in a file, with the line number of each."""

    path: Path
    objects: Sequence[dict[str, Any]]
    lines: Sequence[int]

    def values(self, key: str, kind: type) -> tuple[list[Any], NDArray[np.bool_]]:
        """Return the values of a key, with None for missing ones, and which of them are missing [N]."""
        try:
            values = list(map(itemgetter(key), self.objects))
        except KeyError:
            values = [each.get(key) for each in self.objects]
        found = set(map(type, values))
        strange = found.difference(KINDS[kind][1], (NoneType,))
        if strange:
            self.refuse(key, kind, values, lambda value: type(value) in strange)
        if NoneType not in found:
            return values, np.zeros(len(values), dtype=np.bool_)
        return values, np.array([value is None for value in values], dtype=np.bool_)

    def refuse(self, key: str, kind: type, values: Sequence[Any], is_wrong: Callable[[Any], bool]) -> NoReturn:
        """Refuse the first wrong value of a key, with its line."""
        place = next(place for place, value in enumerate(values) if is_wrong(value))
        found = show(values[place])
        raise ArtifactError(
            f'{self.path}: key "{key}" must be {KINDS[kind][0]} as in the first line, got {found} in line '
            f"{self.lines[place]:,}"
        )


def read_objects(path: Path, block: int) -> Iterator[Objects]:
    """Yield the objects of a file in order, several at a time; blank lines are left out."""
    done = 0
    for lines in _read_lines(path, block):
        numbers: Sequence[int] = range(done + 1, done + len(lines) + 1)
        done += len(lines)
        held = list(filter(bytes.strip, lines))
        if len(held) < len(lines):
            numbers = [number for number, line in zip(numbers, lines, strict=True) if line.strip()]
        if held:
            yield Objects(path, _parse(path, held, numbers), numbers)


def _parse(path: Path, lines: Sequence[bytes], numbers: Sequence[int]) -> list[dict[str, Any]]:
    try:
        parsed = list(map(from_json, lines))
    except ValueError:
        _find_fault(path, lines, numbers)
        raise
    if set(map(type, parsed)) != {dict}:
        place = next(place for place, each in enumerate(parsed) if type(each) is not dict)
        line = "its first line" if numbers[place] == 1 else f"line {numbers[place]:,}"
        raise ArtifactError(
            f"{path} holds {NAMES[type(parsed[place])]} in {line}, expected an object like "
            '{"id": "a", "target": 0, "predicted": 1}'
        )
    return parsed


def _find_fault(path: Path, lines: Sequence[bytes], numbers: Sequence[int]) -> None:
    for number, line in zip(numbers, lines, strict=True):
        try:
            from_json(line)
        except ValueError as error:
            reason = str(error).replace(" at line 1 column ", f" in line {number:,}, column ")
            raise ArtifactError(f"{path} is damaged or not JSON lines, one object per sample: {reason}") from None


def _read_lines(path: Path, block: int) -> Iterator[list[bytes]]:
    rest = b""
    try:
        with open_text(path) as source:
            while read := source.read(max(block, len(rest))):
                whole, line_break, rest = (rest + read).rpartition(b"\n")
                if line_break:
                    yield whole.split(b"\n")
                if len(rest) > LONGEST_LINE:
                    raise ArtifactError(f"{path} must have lines of at most {LONGEST_LINE:,} bytes, got a longer one")
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from None
    if rest:
        yield [rest]
