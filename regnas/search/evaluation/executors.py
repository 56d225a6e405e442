"""Run candidates in this process, in worker processes, or on a Dask cluster.

The same candidates get the same predictions everywhere (on machines of one kind), and results come in the order of the
request. The search is therefore the same with one worker and with eight.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
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
PATIENCE_SECONDS = 60.0  # without scheduler or workers
CLOSE_SECONDS = 5


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


class ClusterLost(Exception):
    """The scheduler is gone, or the data that candidates need were only on workers that died."""


class DaskCluster:
    """The workers of a Dask cluster.

    If a worker dies, another one runs its group again. If the data died with it, or if the scheduler was started again,
    the data are placed again and the groups without a result are submitted again. Without scheduler or workers for
    ``PATIENCE_SECONDS``, the search ends; what is recorded is kept.
    """

    def __init__(self, source: RunnerSource, address: str) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError:
            raise EnvironmentProblem("a Dask cluster needs: pip install 'regnas[dask]'") from None
        self._address = address
        self._source = source
        self._name = uuid4().hex
        self._client: Any = self._connect(CONNECT_SECONDS)
        if not self.workers:
            self._client.close()
            raise EnvironmentProblem(f"the Dask cluster at {address} has no workers. Start some with `dask worker`.")
        self._placed: Any = None

    @property
    def workers(self) -> int:
        return len(self._client.scheduler_info(n_workers=-1)["workers"])

    def run(self, groups: Sequence[Group]) -> Iterator[GroupResult]:
        futures: list[Any] = []
        given = 0
        try:
            while given < len(groups):
                try:
                    if not futures:
                        futures = self._submit(groups[given:])
                    result = self._result(futures[0])
                except ClusterLost:
                    futures = []
                    self._reconnect()
                    continue
                yield result
                futures.pop(0)
                given += 1
                stop_if_asked()
        finally:
            self._cancel(futures)

    def _submit(self, groups: Sequence[Group]) -> list[Any]:
        try:
            if self._placed is None:
                self._placed = self._client.scatter(self._source, broadcast=True, hash=False)
            return [
                self._client.submit(_run_on_cluster, self._placed, self._name, list(group), pure=False)
                for group in groups
            ]
        except Exception as error:  # of any kind if a worker dies while it gets the data
            raise ClusterLost from error

    def _result(self, future: Any) -> GroupResult:
        from distributed import TimeoutError as NotYet
        from distributed.scheduler import KilledWorker

        without_workers = 0.0
        while without_workers < PATIENCE_SECONDS:
            try:
                result: GroupResult = future.result(timeout=POLL_SECONDS)
                return result
            except NotYet:
                stop_if_asked()
                without_workers = 0.0 if self._has_workers() else without_workers + POLL_SECONDS
            except KilledWorker as error:
                raise EnvironmentProblem(
                    f"workers of the Dask cluster died with the same candidates ({first_line(error)}). Check that they "
                    "have enough memory, and resume."
                ) from None
            except Exception as error:
                if future.status == "error":  # the candidates failed, not the cluster
                    raise
                raise ClusterLost from error
        raise EnvironmentProblem(
            f"the Dask cluster at {self._address} has had no workers for {PATIENCE_SECONDS:.0f} s; everything up to "
            "here is kept. Start workers with `dask worker`, and resume."
        )

    def _has_workers(self) -> bool:
        if self._client.status != "running":
            raise ClusterLost
        try:
            return self.workers > 0
        except Exception as error:  # the scheduler died meanwhile
            raise ClusterLost from error

    def _connect(self, seconds: float) -> Any:
        from distributed import Client

        try:
            return Client(self._address, timeout=seconds, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EnvironmentProblem(f"no Dask scheduler answers at {self._address} ({first_line(error)})") from None

    def _reconnect(self) -> None:
        """Connect again, and wait until there is a worker that can get the data."""
        stop_if_asked()
        self.close()
        self._placed = None
        self._client = self._connect(PATIENCE_SECONDS)
        waited = 0.0
        while not self.workers:
            if waited >= PATIENCE_SECONDS:
                raise EnvironmentProblem(
                    f"the Dask cluster at {self._address} has lost its workers; everything up to here is kept. Start "
                    "workers with `dask worker`, and resume."
                )
            stop_if_asked()
            time.sleep(POLL_SECONDS)
            waited += POLL_SECONDS

    def _cancel(self, futures: Sequence[Any]) -> None:
        with suppress(Exception):  # nothing to cancel if the scheduler is gone
            self._client.cancel(futures)

    def close(self) -> None:
        with suppress(Exception):  # a scheduler that is gone cannot say goodbye
            self._client.close(timeout=CLOSE_SECONDS)


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
