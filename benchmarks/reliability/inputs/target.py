"""A kind of file that fuzzing damages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.reliability.mutations import Random, from_fragments, mutate_bytes

Damage = Callable[[Random], bytes]


@dataclass(frozen=True)
class Target:
    """A kind of file.

    Args:
        name: for the counts.
        path: the file that is replaced.
        good: the undamaged content.
        ways: of damaging it; each returns the content of the file.
        read: what commands do with the file; it may raise a ``RegnasError``.
        command: a command that reads the file, for some of the cases.
        cases: per try; fewer for files that take longer to read.
        repair: makes the digest in a damaged file fit again, so that more than the digest is read.
        before: is called after the file was written, for example to make its sha256 known.
    """

    name: str
    path: Path
    good: bytes
    ways: tuple[Damage, ...]
    read: Callable[[], object]
    command: tuple[object, ...] = ()
    cases: int = 250
    before: Callable[[], object] = lambda: None
    repair: Callable[[bytes], bytes] = bytes


def text_ways(content: bytes, other: bytes, words: tuple[str, ...]) -> tuple[Damage, ...]:
    return (lambda random: mutate_bytes(content, random, other), partial(from_fragments, words))
