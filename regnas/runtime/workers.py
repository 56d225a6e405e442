"""Independent jobs in several processes.

For small networks, two processes with one thread each do twice the work of one process with two threads. A worker ends
with its parent, and stops at its next safe place if the parent is asked to stop.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from graphlib import TopologicalSorter
from multiprocessing.synchronize import Event
from typing import TypeVar

import torch
from torch import multiprocessing

from regnas.errors import EnvironmentProblem
from regnas.runtime import signals
from regnas.runtime.importable import check_importable

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
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    arguments = (os.getpid(), stop, torch.get_num_threads())
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
    """A process that is prepared once and then takes calls; if it dies, its calls raise BrokenProcessPool."""

    def __init__(self, prepare: Callable[[Prepared], None], argument: Prepared) -> None:
        check_importable((prepare, argument))
        context = multiprocessing.get_context("spawn")
        self._stop = context.Event()
        arguments = (os.getpid(), self._stop, torch.get_num_threads(), prepare, argument)
        self._pool = ProcessPoolExecutor(1, context, initializer=_prepare_with, initargs=arguments)

    def submit(self, call: Callable[[Argument], Result], argument: Argument) -> Future[Result]:
        return self._pool.submit(call, argument)

    def close(self) -> None:
        """Stop the process at its next safe place."""
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)


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


def _prepare_worker(parent: int, stop: Event, threads: int) -> None:
    torch.set_num_threads(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the parent reacts
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_watch, args=(parent, stop), daemon=True).start()


def _prepare_with(
    parent: int, stop: Event, threads: int, prepare: Callable[[Prepared], None], argument: Prepared
) -> None:
    _prepare_worker(parent, stop, threads)
    prepare(argument)


def _watch(parent: int, stop: Event) -> None:
    while os.getppid() == parent:
        if stop.is_set():
            signals.ask_to_stop(signal.SIGTERM)
        time.sleep(POLL_SECONDS)
    os._exit(1)
