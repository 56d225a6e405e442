"""Paths in a configuration: which keys hold them, and which folder relative ones belong to.

A relative path in a file belongs to the folder of the file. One that is given on the command line, in a dict or for a
preset belongs to the working directory. A run remembers these folders, so that it continues from any directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATH = "path"  # in the metadata of a field: makes its text absolute


def absolute(text: str, folder: Path) -> str:
    """Return a path below the folder, unless it is empty, absolute or below the home folder."""
    return str(folder / text) if text and not Path(text).expanduser().is_absolute() else text


IS_PATH: Mapping[str, Any] = {PATH: absolute}  # the metadata of a key that holds a path


def path_key(default: str, anchored: Callable[[str, Path], str] = absolute) -> Any:
    """Return the field of a key that may hold a path; ``anchored`` makes its text absolute, given a folder."""
    return field(default=default, metadata={PATH: anchored})


@dataclass(frozen=True)
class Anchors:
    """The folders that relative paths belong to: of the file, and of the keys that were given beside it."""

    file: Path
    given: Path
    keys: tuple[str, ...] = ()

    @classmethod
    def here(cls) -> Anchors:
        return cls(Path.cwd(), Path.cwd())

    def folder_of(self, key: str) -> Path:
        beside = any(key == each or key.startswith((f"{each}.", f"{each}[")) for each in self.keys)
        return self.given if beside else self.file

    def to_json(self, run: Path) -> dict[str, Any]:
        """The folders, absolute and as seen from the run folder."""
        folders = {"file": self.file, "given": self.given}
        return {
            "absolute": {name: str(folder) for name, folder in folders.items()},
            "from_run": {name: os.path.relpath(folder, run.absolute()) for name, folder in folders.items()},
            "keys": list(self.keys),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any], run: Path) -> Anchors:
        """Read what a run remembers; if a folder is gone, the run was moved together with it."""

        def folder(name: str) -> Path:
            before = Path(content["absolute"][name])
            return before if before.is_dir() else run.absolute() / content["from_run"][name]

        return cls(folder("file"), folder("given"), tuple(content["keys"]))
