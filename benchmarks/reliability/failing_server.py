"""A process with ``failing_writes.c`` preloaded that forks one ``regnas`` command per request, without importing again.

``python -m benchmarks.reliability.failing_server`` reads requests and writes answers, one JSON object per line.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import IMPORTED

SOURCE = Path(__file__).with_name("failing_writes.c")
MORE_IMPORTS = ("regnas.cli", "regnas.prediction.gallery", "regnas.report.family.report", "matplotlib.figure")


@dataclass(frozen=True)
class Result:
    """How a command ended, and how many write-like calls it made below the folder."""

    code: int
    stdout: str
    stderr: str
    calls: int


class FailingServer:
    """Runs commands; ``fail_at`` is the number of the write-like call that fails, 0 for none."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self._folder = folder

    def run(
        self,
        arguments: Sequence[object],
        below: Path,
        fail_at: int = 0,
        error: int = 0,
        once: bool = False,
        record: Path | None = None,
    ) -> Result:
        """Run a command; ``record`` gets a line per write-like call."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        out, err = self._folder / "stdout", self._folder / "stderr"
        request = {"arguments": list(map(str, arguments)), "below": str(below), "fail_at": fail_at, "error": error}
        request |= {"once": once, "record": str(record or ""), "out": str(out), "err": str(err)}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        said, complained = (path.read_text(encoding="utf-8", errors="replace") for path in (out, err))
        return Result(answer["code"], said, complained, answer["calls"])


@contextmanager
def failing_server(folder: Path) -> Iterator[FailingServer]:
    """Compile the library, and start a server with it."""
    library = folder / "failing_writes.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    process = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, str(library)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "LD_PRELOAD": str(library), "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[2],
    )
    try:
        yield FailingServer(process, folder)
    finally:
        process.communicate()  # closes its input, at which it ends


def serve(library: ctypes.CDLL) -> None:
    for name in (*IMPORTED, *MORE_IMPORTS):
        importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            os._exit(_run(request, library))
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        answers.write(json.dumps({"code": code, "calls": library.failing_writes_count()}) + "\n")
        answers.flush()


def _run(request: dict[str, object], library: ctypes.CDLL) -> int:
    from regnas.cli import exit_code

    for number, path in ((0, os.devnull), (1, str(request["out"])), (2, str(request["err"]))):
        opened = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(opened, number)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, "r" if number == 0 else "w") for number in range(3))
    library.failing_writes_begin(
        os.fsencode(str(request["below"])),
        request["fail_at"],
        request["error"],
        int(bool(request["once"])),
        os.fsencode(str(request["record"])),
    )
    try:
        return exit_code(list(request["arguments"]))  # type: ignore[call-overload, no-any-return]
    except BaseException as error:  # a traceback that a user would see
        print(f"Traceback: {error!r}", file=sys.stderr)
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    serve(ctypes.CDLL(sys.argv[1]))
