"""Tables of JSON, read key by key: a value of the wrong kind is refused with its place."""

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
    """``value`` is ``what`` (a member, an export, ...) in the file ``path``."""

    value: dict[str, Any]
    path: Path
    what: str

    @classmethod
    def of(cls, value: Any, path: Path, what: str, keys: tuple[str, ...]) -> JsonTable:
        if not isinstance(value, dict):
            raise ArtifactError(f"{path} is damaged: {what} is not a table")
        require_keys(value, keys, path)
        return cls(value, path, what)

    def text(self, key: str) -> str:
        found: str = self._of_kind(key, str, "text")
        return found

    def count(self, key: str) -> int:
        found: int = self._of_kind(key, int, "whole number")
        if found < 0:
            raise self.refusal(key, "not negative")
        return found

    def number(self, key: str) -> float:
        found = self.value[key]
        if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
            raise self.refusal(key, "a finite number")
        return float(found)

    def rate(self, key: str) -> float:
        found = self.number(key)
        if not 0 <= found <= 1:
            raise self.refusal(key, "between 0 and 1")
        return found

    def items(self, key: str) -> Iterator[Any]:
        return iter(self._of_kind(key, list, "list"))

    def texts(self, key: str) -> list[str]:
        found: list[str] = self._of_kind(key, list, "list")
        if not all(isinstance(each, str) for each in found):
            raise self.refusal(key, "a list of texts")
        return found

    def table(self, key: str) -> dict[str, Any]:
        found: dict[str, Any] = self._of_kind(key, dict, "table")
        return found

    def refusal(self, key: str, expected: str) -> ArtifactError:
        shown = str(self.value[key])[:40]
        return ArtifactError(f"{self.path} is damaged: {key} of {self.what} must be {expected}, got {shown!r}")

    def _of_kind(self, key: str, kind: type, word: str) -> Any:
        found = self.value[key]
        if type(found) is not kind:
            raise self.refusal(key, f"a {word}")
        return found
