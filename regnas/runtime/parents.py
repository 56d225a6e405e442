"""The end of a process together with its parent, however the parent ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # of prctl(2)


def end_with_parent(parent: int) -> bool:
    """Let the system kill this process when its parent ends; return whether the system can do that.

    Nothing in this process can delay its end: no import or other call that holds the interpreter.

    Args:
        parent: the number of the parent, asked for when it was known to run.
    """
    if sys.platform != "linux" or ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL):
        return False
    if os.getppid() != parent:  # it ended before the call
        os._exit(1)
    return True
