"""A lock that lets one process at a time work in a folder."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from regnas.errors import ConfigurationError
from regnas.runtime.environment import environment_problem
from regnas.runtime.other_processes import is_running
from regnas.runtime.signals import stop_if_asked
from regnas.runtime.temporary import remove_abandoned

LOCK = ".lock"
POLL_SECONDS = 0.5
NAME_SECONDS = 1.0  # to wait for the name of the holder


@contextmanager
def exclusive(folder: Path, patient: bool = False) -> Iterator[None]:
    """Lock the folder inside the block; the system releases the lock if the process dies.

    If another process holds the lock, a patient caller waits. Any other caller gets an error. Temporary files that
    killed processes left in the folder are removed.
    """
    path = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = path.open("a+")
    except OSError as error:
        raise environment_problem(error, folder) from error
    with handle:
        while not _lock(handle):
            if not patient:
                raise ConfigurationError(
                    f"{folder} is in use by {_holder(handle)}. Wait for it, or choose another folder."
                )
            stop_if_asked()
            time.sleep(POLL_SECONDS)
        try:
            handle.truncate(0)
            handle.write(_name(os.getpid()))
            handle.flush()
        except OSError as error:
            raise environment_problem(error, path) from error
        remove_abandoned(folder)
        yield


def _lock(handle: TextIO) -> bool:
    """Lock the file; return False if another process holds the lock."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(handle: TextIO) -> str:
    """Return the name of the process that holds the lock.

    It writes its name when it has the lock. Until then, the file is empty or has the name of an earlier holder.
    """
    deadline = time.monotonic() + NAME_SECONDS
    while time.monotonic() < deadline:
        handle.seek(0)
        name = handle.read().strip()
        if name and not _has_ended(name):
            return name
        time.sleep(0.01)
    return "another process"


def _name(process: int) -> str:
    return f"process {process} on {socket.gethostname()}"


def _has_ended(name: str) -> bool:
    """Whether a name is that of a process of this machine that has ended."""
    number = name.split()[1] if name.startswith("process ") else ""
    return number.isdecimal() and name == _name(int(number)) and not is_running(int(number))
