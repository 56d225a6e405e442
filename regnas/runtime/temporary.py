"""Temporary files: a unique name that identifies their writer, and the removal of files whose writer is dead.

A killed process leaves its temporary file behind. The next owner of the lock of a folder removes all such files in it,
and a process that writes the same file again removes those of that file. A process that a signal ends removes its own.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from regnas.runtime.other_processes import is_running, start_of

SUFFIX = "regnas-tmp"
NAME = re.compile(rf"\.(?P<of>.*)\.(?P<host>[0-9a-f]{{8}})-(?P<pid>\d+)-(?P<start>\d+)-[0-9a-f]{{8}}\.{SUFFIX}", re.S)
KEPT_OF_NAME = 40  # characters of the name of the file, because names have at most 255 bytes
OTHER_HOST_SECONDS = 86_400.0  # a file that another host writes is abandoned if it has not changed for a day
_own: set[Path] = set()


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """Make an empty temporary file beside ``path`` and remove it at the end of the block, unless it was renamed."""
    temporary = path.parent / temporary_name(path.name)
    _own.add(temporary)
    try:
        temporary.touch(exist_ok=False)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
        _own.discard(temporary)


def remove_own() -> None:
    """Remove the temporary files that this process is writing, for a process that ends without leaving its blocks."""
    for path in list(_own):
        with suppress(OSError):
            path.unlink(missing_ok=True)


def temporary_name(name: str) -> str:
    """Return a new name for a file beside ``name``, with the host, the process and its start time."""
    pid = os.getpid()
    return f".{name[:KEPT_OF_NAME]}.{_host()}-{pid}-{start_of(pid)}-{secrets.token_hex(4)}.{SUFFIX}"


def remove_abandoned(folder: Path, of: str | None = None) -> None:
    """Remove temporary files whose writers are dead: those of one file of the folder, or all in the folder and below.

    A file that cannot be removed stays without harm, and the next command tries again.
    """
    for path in _below(folder) if of is None else _in(folder, f".{of[:KEPT_OF_NAME]}."):
        found = NAME.fullmatch(path.name)
        if found and (of is None or found["of"] == of[:KEPT_OF_NAME]):
            with suppress(OSError):
                if not _is_written(path, found["host"], int(found["pid"]), int(found["start"])):
                    path.unlink()


def _below(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names if name.endswith(SUFFIX))


def _in(folder: Path, prefix: str) -> Iterator[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from (Path(each.path) for each in entries if each.name.startswith(prefix) and each.name.endswith(SUFFIX))


def _is_written(path: Path, host: str, pid: int, start: int) -> bool:
    if host != _host():
        return time.time() - path.stat().st_mtime < OTHER_HOST_SECONDS
    # The number of an ended process may be used again.
    return is_running(pid) and start_of(pid) == start


def _host() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]
