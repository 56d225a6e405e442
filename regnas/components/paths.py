"""Paths in a configuration: the keys that hold them, and the folders that relative paths belong to.

A relative path in a file belongs to the folder of the file. A path that is given on the command line, in a dict or for
a preset belongs to the working directory. The run folder records these folders, so a run continues from any directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATH = "path"  # in the metadata of a field: makes its text absolute


def absolute(text: str, folder: Path) -> str:
    """Make a relative path absolute, below the folder; leave it unchanged if it is empty, absolute or starts with ~."""
    return str(folder / text) if text and not Path(text).expanduser().is_absolute() else text


def anchored_address(address: str, folder: Path) -> str:
    """Return the address; if it names a file of SQLite by a relative path, the file is then below the folder.

    Example:
        >>> anchored_address("sqlite:///studies.db", Path("/home/ann")), anchored_address("sqlite://", Path("/home"))
        ('sqlite:////home/ann/studies.db', 'sqlite://')
    """
    scheme, slashes, file = address.partition(":///")
    if not slashes or not scheme.startswith("sqlite") or not file or file.startswith((":memory:", "file:")):
        return address
    return f"{scheme}:///{absolute(file, folder)}"


IS_PATH: Mapping[str, Any] = {PATH: absolute}  # the metadata of a key that holds a path


def path_key(default: str, anchored: Callable[[str, Path], str] = absolute) -> Any:
    """Declare a field that may hold a path; ``anchored`` makes its text absolute, given a folder."""
    return field(default=default, metadata={PATH: anchored})


@dataclass(frozen=True)
class Anchors:
    """The folders that relative paths belong to: that of the file, and that of the keys that were given separately."""

    file: Path
    given: Path
    keys: tuple[str, ...] = ()

    @classmethod
    def here(cls) -> Anchors:
        """Return anchors at the working directory."""
        return cls(Path.cwd(), Path.cwd())

    def folder_of(self, key: str) -> Path:
        """Return the folder that the relative path of a key belongs to."""
        beside = any(key == each or key.startswith((f"{each}.", f"{each}[")) for each in self.keys)
        return self.given if beside else self.file

    def to_json(self, run: Path) -> dict[str, Any]:
        """Return the folders, absolute and relative to the run folder."""
        folders = {"file": self.file, "given": self.given}
        return {
            "absolute": {name: str(folder) for name, folder in folders.items()},
            "from_run": {name: os.path.relpath(folder, run.absolute()) for name, folder in folders.items()},
            "keys": list(self.keys),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any], run: Path) -> Anchors:
        """Read the folders that a run recorded; a folder that is gone was moved together with the run."""

        def folder(name: str) -> Path:
            before = Path(content["absolute"][name])
            return before if before.is_dir() else run.absolute() / content["from_run"][name]

        return cls(folder("file"), folder("given"), tuple(content["keys"]))
