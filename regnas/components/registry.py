"""Names for the parts that a configuration can choose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Generic, TypeVar

from regnas.errors import ConfigurationError

Part = TypeVar("Part")


def nearest(name: str, known: list[str]) -> str:
    """``; did you mean "x"?`` when one of the known names looks like this one, else nothing."""
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    return f'; did you mean "{close[0]}"?' if close else ""


class Registry(Mapping[str, type[Part]], Generic[Part]):
    """A table from names to classes; a miss says what there is."""

    def __init__(self, kind: str, parts: Mapping[str, type[Part]]) -> None:
        self.kind = kind
        self._parts = dict(parts)

    def __getitem__(self, name: str) -> type[Part]:
        if name not in self._parts:
            known = sorted(self._parts)
            raise ConfigurationError(f'unknown {self.kind} "{name}"{nearest(name, known)} (known: {", ".join(known)})')
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)
