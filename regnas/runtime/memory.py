"""Values that are kept in memory as long as there is room."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """Keeps values up to ``limit`` bytes and drops the least recently used ones beyond it.

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
        """The value of a key; what is not kept is made, and may use the cache meanwhile."""
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
        """What all kept values take."""
        return sum(size for _, size in self._kept.values())


class LazyMapping(Mapping[Key, Value]):
    """A mapping whose values are made when they are asked for, each time anew."""

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
