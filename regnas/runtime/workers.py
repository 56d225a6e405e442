"""Run independent jobs in several processes.

For small networks, two processes with one thread each do twice the work of one process with two threads. A worker ends
with its parent, and stops at its next safe place if the parent is asked to stop.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from graphlib import TopologicalSorter
from multiprocessing import connection, forkserver, parent_process
from multiprocessing.context import BaseContext
from multiprocessing.synchronize import Event
from typing import Any, TypeVar

import torch
from torch import multiprocessing

from regnas.errors import EnvironmentProblem
from regnas.runtime import signals, worker_server
from regnas.runtime.importable import check_importable
from regnas.runtime.temporary import remove_own

Job = TypeVar("Job", bound=Hashable)
Prepared = TypeVar("Prepared")
Argument = TypeVar("Argument")
Result = TypeVar("Result")

POLL_SECONDS = 0.2


def run_in_order(jobs: Mapping[Job, Sequence[Job]], work: Callable[[Job], None], workers: int) -> Iterator[Job]:
    """Run every job after those it depends on, at most ``workers`` at a time; yield each when it is done.

    ``work`` and the jobs must be picklable if there is more than one worker; tensors are shared, not copied.
    """
    if workers == 1:
        for job in TopologicalSorter(jobs).static_order():
            work(job)
            yield job
        return
    check_importable((work, jobs))
    context = worker_context(work)
    stop = context.Event()
    arguments = (stop, torch.get_num_threads())
    with ProcessPoolExecutor(workers, context, initializer=_prepare_worker, initargs=arguments) as pool:
        try:
            yield from _schedule(jobs, lambda job: pool.submit(work, job))
        except BrokenProcessPool:
            signals.stop_if_asked()  # torchrun sends its signal to all processes, and these do not postpone it
            raise EnvironmentProblem(
                "a worker process died, probably out of memory. Lower machine.workers, and resume."
            ) from None
        finally:
            # If one job fails, the others stop at their next safe place.
            stop.set()
            pool.shutdown(cancel_futures=True)


class WorkerProcess:
    """A process that is prepared once and then runs calls; if it dies, its calls raise BrokenProcessPool."""

    def __init__(self, prepare: Callable[[Prepared], None], argument: Prepared) -> None:
        check_importable((prepare, argument))
        context = worker_context(prepare)
        self._stop = context.Event()
        arguments = (self._stop, torch.get_num_threads(), prepare, argument)
        self._pool = ProcessPoolExecutor(1, context, initializer=_prepare_with, initargs=arguments)

    def submit(self, call: Callable[[Argument], Result], argument: Argument) -> Future[Result]:
        """Run a call in the process."""
        return self._pool.submit(call, argument)

    def close(self) -> None:
        """Stop the process at its next safe place."""
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)


def worker_context(call: Callable[..., Any]) -> BaseContext:
    """Return the start method of the worker processes of ``call``.

    On Linux, one server process imports the module of the call, and torch with it, and forks all workers. They start at
    once and share the memory of what is imported. Elsewhere it is not safe to fork after such imports.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context: BaseContext = multiprocessing.get_context("forkserver")
    while isinstance(call, partial):
        call = call.func
    # torch imports its compiler with the first optimizer, which takes longer than all else.
    preload = [worker_server.__name__, call.__module__, "torch._dynamo"]
    forkserver.set_forkserver_preload(preload)  # of no effect if the server runs already
    # Blocked in the server and its workers: a terminal sends the signal to all of them, and the parent decides.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ[worker_server.SERVED] = str(os.getpid())
    try:
        forkserver.ensure_running()
    finally:
        del os.environ[worker_server.SERVED]
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    return context


def _schedule(jobs: Mapping[Job, Sequence[Job]], submit: Callable[[Job], Future[None]]) -> Iterator[Job]:
    waiting = TopologicalSorter(jobs)
    waiting.prepare()
    running: dict[Future[None], Job] = {}
    while waiting.is_active():
        running |= {submit(job): job for job in waiting.get_ready()}
        done, _ = wait(running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
        for future in done:
            job = running.pop(future)
            future.result()
            waiting.done(job)
            yield job
        signals.stop_if_asked()


def _prepare_worker(stop: Event, threads: int) -> None:
    torch.set_num_threads(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the parent reacts
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_watch, args=(stop,), daemon=True).start()


def _prepare_with(stop: Event, threads: int, prepare: Callable[[Prepared], None], argument: Prepared) -> None:
    _prepare_worker(stop, threads)
    prepare(argument)


def _watch(stop: Event) -> None:
    """Pass on a request to stop, and end with the parent, however it ends."""
    parent = parent_process()
    assert parent is not None
    while not connection.wait([parent.sentinel], POLL_SECONDS):
        if stop.is_set():
            signals.ask_to_stop(signal.SIGTERM)
    remove_own()
    os._exit(1)
