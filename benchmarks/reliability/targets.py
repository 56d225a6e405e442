"""The processes of an attacked command, and signals to some of them."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PARENT, WORKERS, BOTH = "parent", "workers", "both"
LAUNCHER, RANKS, ALL = "torchrun", ("rank 0", "rank 1"), "torchrun and ranks"
TAG = "REGNAS_TRY"  # a variable of all processes that torchrun starts, which are in sessions of their own


@dataclass(frozen=True)
class Target:
    """All processes of a command: a session, or those that carry a tag.

    Args:
        leader: the process number of the command or of torchrun; it is also the number of the session.
        tag: the value of ``TAG`` in the environment of the processes; empty for a session.
    """

    leader: int
    tag: str = ""

    def processes(self) -> dict[int, str]:
        """Return the command lines of the processes that have not ended, by process number."""
        found = {}
        for process in _all_processes():
            with suppress(OSError):
                fields = _status(process)
                if fields[0] != "Z" and (self._has_tag(process) if self.tag else int(fields[3]) == self.leader):
                    found[process] = Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")[:200]
        return found

    def send(self, who: str, number: int) -> None:
        """Send a signal to some of the processes."""
        if who == BOTH:
            os.killpg(self.leader, number)
            return
        for process in self.chosen(who):
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def chosen(self, who: str) -> list[int]:
        """Return some of the processes."""
        if who in (PARENT, LAUNCHER):
            return [self.leader]
        parents = {}
        for process in self.processes():
            with suppress(OSError):
                parents[process] = int(_status(process)[1])
        if who == WORKERS:  # what the server of the session has forked
            return [process for process, parent in parents.items() if parent in parents and parent != self.leader]
        ranks = {process: _rank(process) for process, parent in parents.items() if parent == self.leader}
        if who == ALL:
            return [self.leader, *(process for process, rank in ranks.items() if rank)]
        return [process for process, rank in ranks.items() if rank == who]

    def _has_tag(self, process: int) -> bool:
        return f"{TAG}={self.tag}" in _environment(process)


def heeds(process: int, number: int = signal.SIGTERM) -> bool:
    """Return whether a process has installed a handler for a signal."""
    with suppress(OSError):
        if found := re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{process}/status").read_text(), re.MULTILINE):
            return bool(int(found[1], 16) >> (number - 1) & 1)
    return False


def _all_processes() -> Iterator[int]:
    yield from (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())


def _status(process: int) -> list[str]:
    """Return the state, the parent, the group, the session and so on."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def _environment(process: int) -> list[str]:
    return Path(f"/proc/{process}/environ").read_text(errors="replace").split("\0")


def _rank(process: int) -> str:
    """Return ``rank 0`` for what torchrun started as such, or nothing."""
    with suppress(OSError):
        return next((f"rank {line[5:]}" for line in _environment(process) if line.startswith("RANK=")), "")
    return ""
