"""The first import of the server that forks worker processes: it ends the server together with the process it serves.

Otherwise the server would outlive a killed process for as long as it imports torch.
"""

from __future__ import annotations

import ctypes
import os
import signal

SERVED = "REGNAS_SERVED_PROCESS"  # the variable with the number of the process that the server works for
PR_SET_PDEATHSIG = 1  # of prctl(2)


def end_with(served: int) -> None:
    """Let the system kill this process when its parent ends; do nothing if ``served`` is not its parent."""
    if os.getppid() == served:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != served:  # it ended before the call
            os._exit(1)


end_with(int(os.environ.get(SERVED, "0")))
