"""What the system tells about other processes of this machine."""

from __future__ import annotations

import os
from pathlib import Path

ENDED = ("Z", "X")  # states


def is_running(pid: int) -> bool:
    """Return whether a process has this number and has not ended.

    A process that has ended keeps its number until its parent asks how it ended.
    """
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it runs, as another user
        pass
    fields = _status(pid)
    return not fields or fields[0] not in ENDED


def start_of(pid: int) -> int:
    """Return when a process started, in ticks since the system did; 0 if the system does not tell."""
    fields = _status(pid)
    return int(fields[19]) if fields else 0


def _status(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; empty if there is no such file."""
    try:
        content = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return content.rpartition(")")[2].split()
