"""A regnas command that attacks itself: ``python -m benchmarks.reliability.victim PLAN COMMAND...``.

The command runs in a session of its own, by which its processes are found when it has ended. An audit hook sees every
file operation of all its processes in the folder of the try. At the operation that the plan names, it sends a signal.
Under torchrun every process is a victim, and the signal can also go to torchrun.
"""

from __future__ import annotations

import json
import mmap
import multiprocessing.util
import os
import re
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.reliability.targets import PARENT, TAG, Target
from regnas.__main__ import main as command
from regnas.runtime.launcher import STARTED_BY_TORCHRUN
from regnas.runtime.temporary import SUFFIX

OPERATIONS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.truncate", "shutil.copyfile"}
# The part of the name of a temporary file that differs from run to run.
TEMPORARY = re.compile(rf"(/\.[^/]+)\.[0-9a-f]{{8}}-\d+-\d+-[0-9a-f]{{8}}\.{SUFFIX}$")


@dataclass(frozen=True)
class Plan:
    """What to do at a file operation.

    Args:
        folder: file operations below it count.
        record: a file that gets a line per operation.
        site: the operation and the file; empty to do nothing.
        nth: how often the operation must come.
        number: the signal.
        who: parent, workers or both; under torchrun: torchrun, a rank, or torchrun and ranks.
        again: whether the signal comes twice.
        sent: a file that is made when the signal is sent.
        flag: a file for which the command waits; when it waits, the file ``FLAG.PROCESS`` exists.
    """

    folder: str
    record: str = ""
    site: str = ""
    nth: int = 1
    number: int = signal.SIGKILL
    who: str = PARENT
    again: bool = False
    sent: str = ""
    flag: str = ""

    def to_text(self) -> str:
        return json.dumps(asdict(self))


def watch(plan: Plan, record: int) -> None:
    """Count the file operations of this process and of those that it forks."""
    target, root = _target(), os.path.realpath(plan.folder) + "/"
    seen = mmap.mmap(-1, 8)  # shared by all processes of the command

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in OPERATIONS or not isinstance(arguments[0], str | os.PathLike):
            return
        path = os.path.abspath(os.fspath(arguments[0]))  # noqa: PTH100
        if not path.startswith(root):
            return
        writes = event != "open" or bool((arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR))
        temporary = TEMPORARY.sub(r"\1", path)
        site = f"{event if writes else 'read'} {temporary.removeprefix(root)}"
        if record >= 0:
            os.write(record, f"{site}\n".encode())
        if site == plan.site:
            count = int.from_bytes(seen[:8], "little") + 1
            seen[:8] = count.to_bytes(8, "little")
            if count == plan.nth:
                if plan.sent:
                    os.close(os.open(plan.sent, os.O_WRONLY | os.O_CREAT))
                for _ in range(1 + plan.again):
                    target.send(plan.who, plan.number)

    sys.addaudithook(look)


def _target() -> Target:
    if STARTED_BY_TORCHRUN in os.environ:
        return Target(os.getppid(), os.environ[TAG])
    os.setsid()
    return Target(os.getpid())


def fork_servers(record: int) -> None:
    """Let the server of the worker processes be a fork, which has imported torch already."""

    def fork(path: str, arguments: list[str], passed: list[int]) -> int:
        process = os.fork()
        if process:
            return process
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as in a new interpreter
            kept = {0, 1, 2, record, *map(int, passed)}
            for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
                if int(name) not in kept:
                    try:
                        os.close(int(name))
                    except OSError:
                        continue
            exec(arguments[-1], {"__name__": "__server__"})
        finally:
            os._exit(0)

    multiprocessing.util.spawnv_passfds = fork  # type: ignore[attr-defined]


def main() -> None:
    plan = Plan(**json.loads(sys.argv[1]))
    record = os.open(plan.record, os.O_WRONLY | os.O_CREAT | os.O_APPEND) if plan.record else -1
    fork_servers(record)
    watch(plan, record)
    sys.argv = ["regnas", *sys.argv[2:]]

    if plan.flag:
        Path(f"{plan.flag}.{os.getpid()}").touch()
        while not Path(plan.flag).exists():
            time.sleep(0.001)
    command()


if __name__ == "__main__":
    main()
