"""A Dask scheduler and workers as real processes, which can be killed and started again on the same address."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.processes import PythonProcess
from benchmarks.reliability.namespaces import Network

# A connection that is cut is given up after 11 seconds, the least that Dask allows, instead of 30.
QUICK = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "11s", "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s"}
SCHEDULER = "scheduler"
SECONDS_TO_START = 60.0


@dataclass
class Cluster:
    """A scheduler and its workers; with a network, each of them at a place of its own."""

    folder: Path
    network: Network | None = None
    variables: Mapping[str, str] = field(default_factory=lambda: dict(QUICK))
    workers: dict[str, PythonProcess] = field(default_factory=dict)
    scheduler: PythonProcess | None = None

    def __post_init__(self) -> None:
        self.host = self.network.address(SCHEDULER) if self.network else "127.0.0.1"
        self.port = 8786 if self.network else _free_port()
        self.address = f"tcp://{self.host}:{self.port}"

    def start_scheduler(self) -> None:
        ready = self.folder / "scheduler.json"
        ready.unlink(missing_ok=True)
        options = ("--host", self.host, "--port", self.port, "--no-dashboard", "--scheduler-file", ready)
        self.scheduler = self._start(SCHEDULER, "distributed.cli.dask_scheduler", *options)
        self.scheduler.wait_for(ready.exists, SECONDS_TO_START)

    def start_worker(self, place: str) -> None:
        options = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", self.folder / "dask")
        self.workers[place] = self._start(place, "distributed.cli.dask_worker", self.address, *options)

    def wait_for_workers(self) -> None:
        """Wait until all workers that run are registered."""
        for worker in self.workers.values():
            worker.wait_for(lambda worker=worker: "Registered to:" in worker.stderr, SECONDS_TO_START)  # type: ignore[misc]

    def running(self) -> list[str]:
        """Return the places of the workers that have not ended."""
        return [place for place, worker in self.workers.items() if worker.returncode is None]

    def kill_worker(self, place: str) -> None:
        self.workers.pop(place).kill()

    def kill_scheduler(self) -> None:
        if self.scheduler is not None:
            self.scheduler.kill()
            self.scheduler = None

    def close(self) -> None:
        self.kill_scheduler()
        for place in list(self.workers):
            self.kill_worker(place)

    def _start(self, place: str, module: str, *options: object) -> PythonProcess:
        inside = self.network.inside(place) if self.network else ("-m",)
        return PythonProcess(*inside, module, *options, cwd=self.folder, variables=self.variables)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
