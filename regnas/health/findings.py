"""Findings as plain text that can be pasted into an issue: no paths, no user names, no passwords."""

from __future__ import annotations

import getpass
import re
import socket
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regnas.runtime.printable import escaped
from regnas.runtime.secrets import hide_passwords

Status = Literal["ok", "note", "failed"]  # a note: something optional is missing, slow or unusual

_FOLDERS = re.compile(r"(?<![\w.~])/(?:[^\s'\":,;()]+/)+")  # of an absolute path, without its last name


@dataclass(frozen=True)
class Finding:
    """One line: what was examined, what was found, and what to do about it."""

    section: str
    name: str
    found: str
    status: Status = "ok"
    remedy: str = ""

    def to_json(self) -> dict[str, str]:
        values = {"section": self.section, "name": self.name, "status": self.status, "found": anonymous(self.found)}
        return values | ({"remedy": self.remedy} if self.remedy else {})


@dataclass(frozen=True)
class Diagnosis:
    """All findings."""

    findings: tuple[Finding, ...]

    @property
    def works(self) -> bool:
        return not self.failed

    @property
    def failed(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.status == "failed")

    def to_json(self) -> dict[str, Any]:
        return {"works": self.works, "findings": [finding.to_json() for finding in self.findings]}

    def __str__(self) -> str:
        width = max(len(finding.name) for finding in self.findings)
        lines = []
        section = ""
        for finding in self.findings:
            if finding.section != section:
                section = finding.section
                lines += ["", section]
            shown = finding.to_json()
            lines.append(f"  {finding.status:<7} {finding.name:<{width}}  {shown['found']}".rstrip())
            if finding.remedy:
                lines.append(f"  {'':<7} {'':<{width}}  {finding.remedy}")
        return "\n".join([*lines[1:], "", self._summary()])

    def _summary(self) -> str:
        if self.works:
            return "Everything that is installed works."
        return f"{len(self.failed)} of {len(self.findings)} failed: {', '.join(each.name for each in self.failed)}."


def anonymous(text: str) -> str:
    """Return a text on one line without folders, passwords, and the names of the user and the machine.

    Example:
        >>> anonymous("cannot open /data/photos/cats/1.png of postgresql://ann:secret@host")
        'cannot open .../1.png of postgresql://ann:***@host'
    """
    shown = hide_passwords(" ".join(text.split()))
    for folder, name in _private_folders():
        shown = re.sub(rf"{re.escape(folder)}(?![\w.-])", name, shown)
    shown = _FOLDERS.sub(".../", shown)
    for private, name in _private_names():
        shown = re.sub(rf"(?<!\w){re.escape(private)}(?!\w)", name, shown)
    return escaped(shown)


def _private_folders() -> Iterable[tuple[str, str]]:
    """Return the folders to replace, the longest first."""
    found = {str(Path.cwd()): ".", str(Path.home()): "~", tempfile.gettempdir(): "TMP"}
    return sorted(((folder, name) for folder, name in found.items() if len(folder) > 1), key=lambda pair: -len(pair[0]))


def _private_names() -> Iterable[tuple[str, str]]:
    """Return the names to replace; that of a machine may contain that of its user."""
    yield socket.gethostname(), "HOST"
    yield Path.home().name or "~", "USER"
    with suppress(KeyError, OSError):  # a process of a container may run as a user without a name
        yield getpass.getuser(), "USER"
