"""Read tables of JSON key by key; refuse a value of the wrong kind with its place."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regnas.errors import ArtifactError
from regnas.runtime.files import require_keys


@dataclass(frozen=True)
class JsonTable:
    """A table in a JSON file.

    value: the content of the table
    path: the file
    what: the words for the table in messages, such as "a member"
    """

    value: dict[str, Any]
    path: Path
    what: str

    @classmethod
    def of(cls, value: Any, path: Path, what: str, keys: tuple[str, ...]) -> JsonTable:
        """Check that a value is a table with these keys."""
        if not isinstance(value, dict):
            raise ArtifactError(f"{path} is damaged: {what} must be a table, got {type(value).__name__}")
        require_keys(value, keys, path)
        return cls(value, path, what)

    def text(self, key: str) -> str:
        """Return a text."""
        found: str = self._of_kind(key, str, "text")
        return found

    def count(self, key: str) -> int:
        """Return a whole number that is not negative."""
        found: int = self._of_kind(key, int, "whole number")
        if found < 0:
            raise self.refusal(key, "not negative")
        return found

    def number(self, key: str) -> float:
        """Return a finite number."""
        found = self.value[key]
        if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
            raise self.refusal(key, "a finite number")
        return float(found)

    def rate(self, key: str) -> float:
        """Return a number between 0 and 1."""
        found = self.number(key)
        if not 0 <= found <= 1:
            raise self.refusal(key, "between 0 and 1")
        return found

    def items(self, key: str) -> Iterator[Any]:
        """Return the items of a list."""
        return iter(self._of_kind(key, list, "list"))

    def texts(self, key: str) -> list[str]:
        """Return a list of texts."""
        found: list[str] = self._of_kind(key, list, "list")
        if not all(isinstance(each, str) for each in found):
            raise self.refusal(key, "a list of texts")
        return found

    def table(self, key: str) -> dict[str, Any]:
        """Return an inner table."""
        found: dict[str, Any] = self._of_kind(key, dict, "table")
        return found

    def refusal(self, key: str, expected: str) -> ArtifactError:
        """Return the error for a wrong value of a key."""
        shown = str(self.value[key])[:40]
        return ArtifactError(f"{self.path} is damaged: {key} of {self.what} must be {expected}, got {shown!r}")

    def _of_kind(self, key: str, kind: type, word: str) -> Any:
        found = self.value[key]
        if type(found) is not kind:
            raise self.refusal(key, f"a {word}")
        return found
