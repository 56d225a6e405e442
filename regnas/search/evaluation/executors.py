"""Run candidates in this process, in worker processes, or on a Dask cluster.

The same candidates get the same predictions everywhere (on machines of one kind), and results come in the order of the
request. The search is therefore the same with one worker and with eight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Protocol

from regnas.errors import ConfigurationError, EnvironmentProblem
from regnas.runtime.signals import stop_if_asked
from regnas.runtime.workers import POLL_SECONDS, WorkerProcess
from regnas.search.evaluation.candidates import CandidateRunner, RunnerSource
from regnas.search.evaluation.dask_cluster import DaskCluster, Group, GroupResult, check_scheduler

MOST_DEATHS = 3


class CandidateExecutor(Protocol):
    """Runs groups of candidates somewhere."""

    @property
    def workers(self) -> int:
        """The number of groups that run at the same time."""
        ...

    def run(self, groups: Sequence[Group]) -> Iterator[GroupResult]:
        """Yield per group the predictions and the seconds of forward passes, in the order of the groups."""
        ...

    def close(self) -> None:
        """End the workers."""
        ...


class InProcess:
    """Runs candidates in this process."""

    workers = 1

    def __init__(self, runner: CandidateRunner) -> None:
        self._runner = runner

    def run(self, groups: Sequence[Group]) -> Iterator[GroupResult]:
        """Yield the predictions of each group."""
        for group in groups:
            yield self._runner.run(group)
            stop_if_asked()

    def close(self) -> None:
        """Do nothing, because nothing was opened."""


class WorkerProcesses:
    """Worker processes, each with its own supernet over shared images.

    Every worker is a pool of its own: if one dies, only the group that it was running is lost.
    """

    def __init__(self, source: RunnerSource, workers: int) -> None:
        self.workers = workers
        self._source = source
        self._idle: list[WorkerProcess] = []

    def run(self, groups: Sequence[Group]) -> Iterator[GroupResult]:
        """Yield the predictions of each group, in the order of the groups."""
        waiting = deque(range(len(groups)))
        running: dict[Future[GroupResult], tuple[int, WorkerProcess]] = {}
        finished: dict[int, GroupResult] = {}
        deaths = [0] * len(groups)
        given = 0
        try:
            while given < len(groups):
                while waiting and len(running) < self.workers:
                    index = waiting.popleft()
                    future, worker = self._submit(list(groups[index]))
                    running[future] = index, worker
                done, _ = wait(running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    index, worker = running.pop(future)
                    try:
                        finished[index] = future.result()
                        self._idle.append(worker)
                    except BrokenProcessPool:
                        worker.close()
                        deaths[index] += 1
                        waiting.appendleft(index)
                        if deaths[index] == MOST_DEATHS:
                            raise EnvironmentProblem(
                                f"worker processes died {MOST_DEATHS} times with the same candidates, probably out of "
                                "memory. Lower machine.workers, and resume."
                            ) from None
                while given in finished:
                    yield finished.pop(given)
                    given += 1
                stop_if_asked()
        finally:
            for _, worker in running.values():  # still running only if the search was stopped
                worker.close()

    def _submit(self, group: Group) -> tuple[Future[GroupResult], WorkerProcess]:
        while self._idle:
            worker = self._idle.pop()
            try:
                return worker.submit(_run_kept, group), worker
            except BrokenProcessPool:  # it died while it was idle
                worker.close()
        worker = WorkerProcess(_keep_runner, self._source)
        return worker.submit(_run_kept, group), worker

    def close(self) -> None:
        """End the worker processes."""
        for worker in self._idle:
            worker.close()
        self._idle = []


@dataclass(frozen=True)
class ExecutorChoice:
    """Where candidates run: ``inline``, ``processes=4`` or ``dask=tcp://host:8786``."""

    processes: int = 1
    dask: str = ""

    @classmethod
    def parse(cls, text: str) -> ExecutorChoice:
        """Read the value of the option ``--executor``."""
        kind, _, value = text.partition("=")
        if kind == "inline" and not value:
            return cls()
        if kind == "processes" and value.isdecimal() and int(value) >= 1:
            return cls(processes=int(value))
        if kind == "dask" and "://" in value:
            return cls(dask=value)
        raise ConfigurationError(f'`executor` must be inline, processes=4 or dask=tcp://host:8786, got "{text}"')

    def check(self) -> None:
        """Refuse a cluster that cannot be reached, before hours of training."""
        if self.dask:
            check_scheduler(self.dask)

    def open(self, runner: CandidateRunner, source: RunnerSource) -> CandidateExecutor:
        """Open the executor; the caller closes it."""
        if self.dask:
            return DaskCluster(source, self.dask)
        return WorkerProcesses(source, self.processes) if self.processes > 1 else InProcess(runner)


_kept: list[CandidateRunner] = []  # the runner of a worker process


def _keep_runner(source: RunnerSource) -> None:
    _kept.append(source.build())


def _run_kept(group: Group) -> GroupResult:
    return _kept[0].run(group)
