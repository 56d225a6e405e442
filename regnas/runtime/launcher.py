"""The end of a process that torchrun started: together with torchrun, and without taking the other processes with it.

torchrun puts its processes into separate sessions and cannot stop them if it is killed. They would continue beside the
processes of the command that resumes the run. torchrun stops all processes if one of them ends with a failure.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

from regnas.runtime.parents import end_with_parent
from regnas.runtime.temporary import remove_own

STARTED_BY_TORCHRUN = "TORCHELASTIC_RUN_ID"
POLL_SECONDS = 0.2


def end_with_launcher(environment: Mapping[str, str] = os.environ) -> None:
    """End this process as soon as its parent has ended, if that is torchrun."""
    if STARTED_BY_TORCHRUN not in environment or any(thread.name == __name__ for thread in threading.enumerate()):
        return
    launcher = os.getppid()
    if not end_with_parent(launcher):
        threading.Thread(target=_watch, args=(launcher,), name=__name__, daemon=True).start()


def end_rank(code: int, environment: Mapping[str, str] = os.environ) -> None:
    """End this process at once if torchrun started it and it is not the first one; otherwise do nothing.

    The first process searches and writes the report after the others have ended. While an interpreter is torn down, a
    thread of torch that still needs it aborts its process, and torchrun then stops the first one.
    """
    if STARTED_BY_TORCHRUN not in environment or environment.get("RANK", "0") == "0":
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _watch(launcher: int) -> None:
    while os.getppid() == launcher:
        time.sleep(POLL_SECONDS)
    remove_own()
    os._exit(1)
