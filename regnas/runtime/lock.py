"""One process at a time in a run folder."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regnas.errors import ConfigurationError
from regnas.runtime.files import environment_problem

LOCK = ".lock"


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold the folder for the length of the block; the system lets go of it when the process dies."""
    path = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = path.open("a+")
    except OSError as error:
        raise environment_problem(error, folder) from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            holder = handle.read().strip() or "another process"
            raise ConfigurationError(f"{folder} is in use by {holder}: wait for it or choose another --out") from None
        handle.truncate(0)
        handle.write(f"process {os.getpid()} on {socket.gethostname()}")
        handle.flush()
        yield
