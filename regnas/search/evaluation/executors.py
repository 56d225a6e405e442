"""Run candidates in this process, in worker processes, or on a Dask cluster.

The same candidates get the same predictions everywhere (on machines of one kind), and results come in the order of the
request. The search is therefore the same with one worker and with eight.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

import torch

from regnas.errors import ConfigurationError, EnvironmentProblem, first_line
from regnas.runtime.signals import stop_if_asked
from regnas.runtime.workers import POLL_SECONDS, WorkerProcess
from regnas.search.evaluation.candidates import CandidateRunner, Predicted, RunnerSource
from regnas.space import Architecture

Group = Sequence[Architecture]
GroupResult = tuple[list[Predicted], float]

MOST_DEATHS = 3
CONNECT_SECONDS = 15


class CandidateExecutor(Protocol):
    @property
    def workers(self) -> int: ...

    def run(self, groups: Sequence[Group]) -> Iterator[GroupResult]:
        """Yield per group the predictions and the seconds of forward passes, in the order of the groups."""
        ...

    def close(self) -> None: ...


class InProcess:
    workers = 1

    def __init__(self, runner: CandidateRunner) -> None:
        self._runner = runner

    def run(self, groups: Sequence[Group]) -> Iterator[GroupResult]:
        for group in groups:
            yield self._runner.run(group)
            stop_if_asked()

    def close(self) -> None:
        """Do nothing: nothing was opened."""


class WorkerProcesses:
    """Worker processes, each with its own supernet over shared images.

    Every worker is a pool of its own: if one dies, only the group that it was running is lost.
    """

    def __init__(self, source: RunnerSource, workers: int) -> None:
        self.workers = workers
        self._source = source
        self._idle: list[WorkerProcess] = []

    def run(self, groups: Sequence[Group]) -> Iterator[GroupResult]:
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
        for worker in self._idle:
            worker.close()
        self._idle = []


class DaskCluster:
    """The workers of a Dask cluster; if a worker dies, another one runs its group again."""

    def __init__(self, source: RunnerSource, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise EnvironmentProblem("a Dask cluster needs: pip install 'regnas[dask]'") from None
        try:
            self._client: Any = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EnvironmentProblem(f"no Dask scheduler answers at {address} ({first_line(error)})") from None
        if not self.workers:
            self._client.close()
            raise EnvironmentProblem(f"the Dask cluster at {address} has no workers. Start some with `dask worker`.")
        self._source = self._client.scatter(source, broadcast=True, hash=False)
        self._name = uuid4().hex

    @property
    def workers(self) -> int:
        return len(self._client.scheduler_info(n_workers=-1)["workers"])

    def run(self, groups: Sequence[Group]) -> Iterator[GroupResult]:
        from distributed import TimeoutError as NotYet
        from distributed.scheduler import KilledWorker

        futures = [
            self._client.submit(_run_on_cluster, self._source, self._name, list(group), pure=False) for group in groups
        ]
        try:
            for future in futures:
                while True:
                    try:
                        result: GroupResult = future.result(timeout=POLL_SECONDS)
                        break
                    except NotYet:
                        stop_if_asked()
                yield result
                stop_if_asked()
        except KilledWorker as error:
            raise EnvironmentProblem(
                f"workers of the Dask cluster died with the same candidates ({first_line(error)}). Check that they "
                "have enough memory, and resume."
            ) from None
        finally:
            self._client.cancel(futures)

    def close(self) -> None:
        self._client.close()


@dataclass(frozen=True)
class ExecutorChoice:
    """``inline``, ``processes=4`` or ``dask=tcp://host:8786``."""

    processes: int = 1
    dask: str = ""

    @classmethod
    def parse(cls, text: str) -> ExecutorChoice:
        kind, _, value = text.partition("=")
        if kind == "inline" and not value:
            return cls()
        if kind == "processes" and value.isdecimal() and int(value) >= 1:
            return cls(processes=int(value))
        if kind == "dask" and "://" in value:
            return cls(dask=value)
        raise ConfigurationError(f'`executor` must be inline, processes=4 or dask=tcp://host:8786, got "{text}"')

    def open(self, runner: CandidateRunner, source: RunnerSource) -> CandidateExecutor:
        if self.dask:
            return DaskCluster(source, self.dask)
        return WorkerProcesses(source, self.processes) if self.processes > 1 else InProcess(runner)


# The runner that a worker keeps from one group to the next, by search.
_kept: dict[str, CandidateRunner] = {}
_one_at_a_time = threading.Lock()  # a Dask worker may have several threads, and torch has its own


def _keep_runner(source: RunnerSource) -> None:
    _kept[""] = source.build()


def _run_kept(group: Group) -> GroupResult:
    return _kept[""].run(group)


def _run_on_cluster(source: RunnerSource, search: str, group: Group) -> GroupResult:
    with _one_at_a_time:
        if search not in _kept:
            _kept.clear()
            torch.set_num_threads(source.threads)
            _kept[search] = source.build()
        return _kept[search].run(group)
