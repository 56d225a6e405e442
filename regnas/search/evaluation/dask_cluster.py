"""Run candidates on a Dask cluster, whose workers and scheduler may die at any moment."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import wait
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from uuid import uuid4

import torch

from regnas.errors import ConfigurationError, EnvironmentProblem, RegnasError, first_line
from regnas.runtime.signals import stop_if_asked
from regnas.search.evaluation.candidates import CandidateRunner, Predicted, RunnerSource
from regnas.space import Architecture

Group = Sequence[Architecture]
GroupResult = tuple[list[Predicted], float]

PATIENCE = "REGNAS_DASK_PATIENCE"  # the variable of the seconds without scheduler or workers
PATIENCE_SECONDS = 60.0
FIRST_PATIENCE_SECONDS = 15.0  # at most, before the first answer
DISTRIBUTION = "regnas"
CONNECT_SECONDS = 5.0  # of one attempt; a signal waits as long
CLOSE_SECONDS = 2.0
POLL_SECONDS = 0.02
CHECK_SECONDS = 1.0  # between two questions for the workers
MOST_LOSSES = 20  # in a row, without a result in between
NO_WORKERS = "has no workers. Start workers with `dask worker`"
MISSING = "a Dask cluster needs dask and distributed. Run: pip install 'regnas[dask]'"
PAUSE_SECONDS = 0.2  # after a loss; longer after each further one


class ClusterLost(Exception):
    """The scheduler is gone, and with it all submitted tasks."""


class DaskCluster:
    """The workers of a Dask cluster.

    The source of candidates is the result of a task. If the workers that hold it die, the scheduler runs the task
    again, as it does with the groups of a dead worker. If the scheduler is started again, all groups without a result
    are submitted again. After the patience without scheduler or workers, the search ends; recorded candidates are kept.
    """

    def __init__(self, source: RunnerSource, address: str) -> None:
        try:
            from distributed.protocol.pickle import dumps
        except ImportError:
            raise EnvironmentProblem(MISSING) from None
        self._address = address
        self._patience = _patience()
        self._packed = dumps(source)  # so that the scheduler only passes on bytes
        self._name = uuid4().hex
        self._placed: Any = None
        self._workers = 0
        self._client: Any = None
        self._opened = ExitStack()
        self._opened.enter_context(_quiet())
        try:
            self._open(_first_patience())
        except BaseException:
            self.close()
            raise

    @property
    def workers(self) -> int:
        """The number of workers at the last successful query."""
        with suppress(ClusterLost):
            self._count_workers()
        return self._workers

    def run(self, groups: Sequence[Group]) -> Iterator[GroupResult]:
        """Yield the predictions of each group, in the order of the groups."""
        futures: list[Any] = []
        given = losses = 0
        while given < len(groups):
            try:
                futures = futures or self._submit(groups[given:])
                result = self._result(futures[0])
            except ClusterLost as lost:
                futures = []
                losses += 1
                if losses == MOST_LOSSES:
                    raise self._gone(f"was lost {losses} times in a row ({lost}). Check its scheduler") from None
                self._reconnect(losses * PAUSE_SECONDS)
                continue
            yield result
            futures.pop(0)
            given += 1
            losses = 0
            stop_if_asked()

    def _submit(self, groups: Sequence[Group]) -> list[Any]:
        import dask

        try:
            if self._placed is None:
                with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1PB"}):
                    self._placed = self._client.submit(_unpack, self._packed, pure=False)
            return [
                self._client.submit(_run_on_cluster, self._placed, self._name, list(group), pure=False)
                for group in groups
            ]
        except Exception as error:
            raise ClusterLost(first_line(error)) from error

    def _result(self, future: Any) -> GroupResult:
        from distributed.scheduler import KilledWorker

        self._until_finished(future)
        try:
            # If the workers that hold the result die meanwhile, others compute it again, as soon as there are any.
            result: GroupResult = self._answer(lambda client: client.gather(future, asynchronous=True), self._watch())
            return result
        except KilledWorker as error:
            raise EnvironmentProblem(
                f"workers of the Dask cluster died with the same candidates ({first_line(error)}). Check that they "
                "have enough memory, and resume."
            ) from None
        except RegnasError:
            raise
        except Exception as error:
            if module := _missing_module(error):
                raise self._without(module) from None
            if future.status == "error":  # the candidates failed, not the cluster
                raise
            raise ClusterLost(first_line(error)) from error

    def _until_finished(self, future: Any) -> None:
        look = self._watch()
        while future.status == "pending":
            look()
            time.sleep(POLL_SECONDS)

    def _watch(self) -> Callable[[], None]:
        """Return a function that a wait calls repeatedly; it raises after a signal, or without workers for too long."""
        heard = checked = time.monotonic()

        def look() -> None:
            nonlocal heard, checked
            stop_if_asked()
            if time.monotonic() - checked > CHECK_SECONDS:
                if self._count_workers():
                    heard = time.monotonic()
                elif time.monotonic() - heard > self._patience:
                    raise self._gone(NO_WORKERS)
                checked = time.monotonic()

        return look

    def _count_workers(self) -> int:
        try:
            self._workers = len(self._answer(lambda client: client.nthreads(asynchronous=True)))
        except Exception as error:
            raise ClusterLost(first_line(error)) from error
        return self._workers

    def _answer(self, ask: Callable[[Any], Coroutine[Any, Any, Any]], look: Callable[[], None] = stop_if_asked) -> Any:
        """Ask the cluster, and wait until it answers, is lost, or ``look`` raises."""
        if self._client.status != "running":
            raise ClusterLost("no connection to the scheduler")
        asked = asyncio.run_coroutine_threadsafe(ask(self._client), self._client.loop.asyncio_loop)
        try:
            while not wait([asked], POLL_SECONDS).done:
                look()
                if self._client.status != "running":
                    raise ClusterLost("no connection to the scheduler")
            return asked.result()
        finally:
            asked.cancel()

    def _open(self, patience: float) -> None:
        """Connect, and wait until there is a worker."""
        deadline = time.monotonic() + patience
        while True:
            self._client = _connect(self._address, deadline)
            try:
                while not self._count_workers():
                    if time.monotonic() > deadline:
                        raise self._gone(NO_WORKERS)
                    stop_if_asked()
                    time.sleep(POLL_SECONDS)
                self._check_versions()
                return
            except ClusterLost:
                self._leave()

    def _check_versions(self) -> None:
        """Refuse a scheduler or a worker without regnas or with another version, which would fail at the first task.

        The query uses only the standard library, so every process can answer.
        """
        asked = version, DISTRIBUTION
        own = version(DISTRIBUTION)
        try:
            answers = self._answer(lambda client: client.run(*asked, on_error="return", asynchronous=True))
            with suppress(PackageNotFoundError):
                answers["the scheduler"] = None
                answers["the scheduler"] = self._answer(
                    lambda client: client.run_on_scheduler(*asked, asynchronous=True)
                )
        except Exception as error:
            raise ClusterLost(first_line(error)) from error
        for process, found in answers.items():
            if isinstance(found, Exception) and not isinstance(found, PackageNotFoundError):
                continue  # a worker that ended meanwhile
            if found != own:
                other = f"regnas {found}" if isinstance(found, str) else "no regnas"
                raise EnvironmentProblem(
                    f"the Dask cluster at {self._address}: {process} must have regnas {own}, as here, got {other}. "
                    "Install the same packages where the scheduler and the workers run, and resume."
                )

    def _reconnect(self, pause: float) -> None:
        stop_if_asked()
        self._leave()
        time.sleep(pause)
        self._open(self._patience)

    def _leave(self) -> None:
        self._placed = None
        with suppress(Exception):  # a scheduler that is gone cannot say goodbye
            self._client.close(timeout=CLOSE_SECONDS)

    def _gone(self, problem: str) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"the Dask cluster at {self._address} {problem}, and resume; recorded candidates are kept"
        )

    def _without(self, module: str) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"a worker of the Dask cluster at {self._address} has no module {module}. Install the same packages as "
            "here on all workers, and resume."
        )

    def close(self) -> None:
        """Disconnect from the cluster."""
        self._leave()
        self._opened.close()


def check_scheduler(address: str) -> None:
    """Refuse the address of a cluster if no scheduler answers there for a while; workers may join later."""
    with _quiet():
        client = _connect(address, time.monotonic() + _first_patience())
        with suppress(Exception):
            client.close(timeout=CLOSE_SECONDS)


def _connect(address: str, deadline: float) -> Any:
    """Try to connect until the deadline: a scheduler may be about to start."""
    try:
        from distributed import Client
    except ImportError:
        raise EnvironmentProblem(MISSING) from None
    while True:
        left = max(deadline - time.monotonic(), POLL_SECONDS)
        try:
            return Client(address, timeout=min(left, CONNECT_SECONDS), set_as_default=False)
        except (OSError, ValueError) as error:
            if isinstance(error, ValueError) or time.monotonic() > deadline:
                raise EnvironmentProblem(f"no Dask scheduler answers at {address} ({first_line(error)})") from None
        stop_if_asked()


def _missing_module(error: BaseException | None) -> str:
    """Return the name of a module that a worker could not import; empty for other errors."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError):
            return error.name or "regnas"
        error = error.__cause__ or error.__context__
    return ""


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from printing tracebacks about lost connections; relevant errors are raised."""
    from distributed.utils import silence_logging_cmgr

    with ExitStack() as stack:
        for name in ("distributed", "distributed.client"):  # these have their own handlers
            stack.enter_context(silence_logging_cmgr(logging.CRITICAL, name))
        # Stays: asyncio complains when a task is collected, which may be after the last call.
        logging.getLogger("asyncio").addFilter(_about_errors)
        yield


def _about_errors(record: logging.LogRecord) -> bool:
    """Leave out complaints about a signal inside Dask, with which it stops waiting for results."""
    from distributed.client import AllExit

    return not (record.exc_info and isinstance(record.exc_info[1], AllExit))


def _patience() -> float:
    text = os.environ.get(PATIENCE, "")
    try:
        seconds = float(text or PATIENCE_SECONDS)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise ConfigurationError(f'{PATIENCE} must be a number of seconds above 0, got "{text}"')
    return seconds


def _first_patience() -> float:
    """Return the seconds to wait for the first answer; the address may be wrong."""
    return min(_patience(), FIRST_PATIENCE_SECONDS)


# The runner that a worker keeps from one group to the next, by search.
_kept: dict[str, CandidateRunner] = {}
_one_at_a_time = threading.Lock()  # a worker may have several threads, and torch has its own


def _unpack(packed: bytes) -> RunnerSource:
    source: RunnerSource = pickle.loads(packed)
    return source


def _run_on_cluster(source: RunnerSource, search: str, group: Group) -> GroupResult:
    with _one_at_a_time:
        if search not in _kept:
            _kept.clear()
            torch.set_num_threads(source.threads)
            _kept[search] = source.build()
        return _kept[search].run(group)
