"""End a process together with the torchrun that started it.

torchrun puts its processes into separate sessions and cannot stop them if it is killed. They would continue beside the
processes of the command that resumes the run.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping

from regnas.runtime.temporary import remove_own

STARTED_BY_TORCHRUN = "TORCHELASTIC_RUN_ID"
POLL_SECONDS = 0.2


def end_with_launcher(environment: Mapping[str, str] = os.environ) -> None:
    """Watch the parent of this process if it is torchrun, and end as soon as it has ended."""
    if STARTED_BY_TORCHRUN in environment and not any(thread.name == __name__ for thread in threading.enumerate()):
        threading.Thread(target=_watch, args=(os.getppid(),), name=__name__, daemon=True).start()


def _watch(launcher: int) -> None:
    while os.getppid() == launcher:
        time.sleep(POLL_SECONDS)
    remove_own()
    os._exit(1)
