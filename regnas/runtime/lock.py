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
from regnas.runtime.signals import stop_if_asked
from regnas.runtime.temporary import remove_abandoned

LOCK = ".lock"
POLL_SECONDS = 0.5


@contextmanager
def exclusive(folder: Path, patient: bool = False) -> Iterator[None]:
    """Lock the folder for the length of the block; the system releases the lock if the process dies.

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
                handle.seek(0)
                holder = handle.read().strip() or "another process"
                raise ConfigurationError(f"{folder} is in use by {holder}. Wait for it, or choose another folder.")
            stop_if_asked()
            time.sleep(POLL_SECONDS)
        try:
            handle.truncate(0)
            handle.write(f"process {os.getpid()} on {socket.gethostname()}")
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
