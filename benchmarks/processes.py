"""Run Python programs in separate processes, without the seconds that importing torch takes.

A server process, one for all tests of a pytest process, imports the modules of the programs and forks each of them.
They have their own process number, output, working directory and exit code, and can be killed. A test about the imports
of a program, or about the start of Python, needs ``subprocess``.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import shutil
import signal
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path

IMPORTED = (
    "regnas.runs.pipeline",
    "regnas.updates.study",
    "torch._dynamo",
    "torchvision",
    "sklearn.datasets",
    "benchmarks.processes",
)


@dataclass(frozen=True)
class Outcome:
    code: int
    stdout: str
    stderr: str


class PythonProcess:
    """A running ``python -m MODULE ...`` or ``python -c PROGRAM ...``."""

    def __init__(self, *arguments: object, cwd: Path | None = None, variables: Mapping[str, str] | None = None) -> None:
        folder = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, folder)
        self._out, self._err = folder / "stdout", folder / "stderr"
        forkserver.set_forkserver_preload(list(IMPORTED))  # of no effect if the server runs already
        self._process = multiprocessing.get_context("forkserver").Process(
            target=_run,
            # The server has the environment of the moment in which it was started.
            args=(
                list(map(str, arguments)),
                cwd or Path.cwd(),
                {**os.environ, **(variables or {})},
                self._out,
                self._err,
            ),
        )
        self._process.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    @property
    def stdout(self) -> str:
        """The output so far."""
        return self._out.read_text(encoding="utf-8") if self._out.exists() else ""

    @property
    def stderr(self) -> str:
        return self._err.read_text(encoding="utf-8") if self._err.exists() else ""

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()
        self._process.join()

    def wait_for(self, condition: Callable[[], object], seconds: float = 120) -> None:
        """Wait until a condition is true, for example to send a signal then."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if condition():
                return
            assert self.returncode is None, self.stderr
            time.sleep(0.005)
        raise AssertionError("the moment never came")

    def finish(self, seconds: float = 240) -> Outcome:
        self._process.join(seconds)
        if self.returncode is None:
            self.kill()
            raise AssertionError(f"the process did not end within {seconds} s: {self.stderr}")
        return Outcome(self.returncode, self.stdout, self.stderr)


def start_regnas(*arguments: object, cwd: Path | None = None) -> PythonProcess:
    """Start the command."""
    return PythonProcess("-m", "regnas", *arguments, cwd=cwd)


def regnas(*arguments: object, cwd: Path | None = None) -> Outcome:
    """Run the command to its end."""
    return start_regnas(*arguments, cwd=cwd).finish()


def _run(arguments: list[str], cwd: Path, variables: Mapping[str, str], out: Path, err: Path) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the server blocks it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)
    os.chdir(cwd)
    for number, path in ((0, Path(os.devnull)), (1, out), (2, err)):
        with path.open("rb" if number == 0 else "wb") as file:
            os.dup2(file.fileno(), number)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, "r" if number == 0 else "w") for number in range(3))
    kind, program, *rest = arguments
    sys.argv = [program if kind == "-m" else "-c", *rest]
    if kind == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        exec(compile(program, "-c", "exec"), {"__name__": "__main__"})
