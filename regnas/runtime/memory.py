"""Caches of bounded size, lazy mappings, and objects that the garbage collector skips."""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """A cache of up to ``limit`` bytes that drops the least recently used values first.

    The newest value is always kept, however large it is.

    Example:
        >>> cache = BoundedCache[str, bytes](limit=4, size_of=len)
        >>> [cache.get(name, lambda: b"abc") for name in ("one", "two")]
        [b'abc', b'abc']
        >>> "one" in cache, "two" in cache
        (False, True)
    """

    def __init__(self, limit: int, size_of: Callable[[Value], int]) -> None:
        self._limit = limit
        self._size_of = size_of
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value of a key; make it if it is not kept. ``make`` may itself use the cache."""
        if key not in self._kept:
            value = make()
            self._kept[key] = value, self._size_of(value)
        self._kept.move_to_end(key)
        value, _ = self._kept[key]
        while len(self._kept) > 1 and self.bytes > self._limit:
            self._kept.popitem(last=False)
        return value

    def __contains__(self, key: object) -> bool:
        return key in self._kept

    @property
    def bytes(self) -> int:
        """The size of all kept values."""
        return sum(size for _, size in self._kept.values())


class LazyMapping(Mapping[Key, Value]):
    """A mapping that makes a value each time it is read."""

    def __init__(self, keys: Collection[Key], make: Callable[[Key], Value]) -> None:
        self._keys = keys
        self._make = make

    def __getitem__(self, key: Key) -> Value:
        if key not in self._keys:
            raise KeyError(key)
        return self._make(key)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


@contextmanager
def freeze_collector() -> Iterator[None]:
    """Exclude all objects that exist when the block begins from garbage collection.

    With torch imported, there are a million of them, and nearly all of them stay. A search of small networks would
    spend a tenth of its time scanning them repeatedly.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
