"""End a process together with the torchrun that started it.

torchrun puts its processes into separate sessions and cannot stop them if it is killed. They would continue beside the
processes of the command that resumes the run.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping

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


def _watch(launcher: int) -> None:
    while os.getppid() == launcher:
        time.sleep(POLL_SECONDS)
    remove_own()
    os._exit(1)
