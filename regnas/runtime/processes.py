"""The processes that train one network together, as torchrun starts them.

They do the same work on different images and exchange sums (gloo on the CPU, nccl on CUDA). Only the first one, the
main process, writes, logs and prints. If one fails, all exit with its exit code, and one of them prints the reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
from torch import Tensor

from regnas.errors import ConfigurationError, EnvironmentProblem, RegnasError, first_line
from regnas.runtime.launcher import end_with_launcher
from regnas.runtime.machine import choose_device

Result = TypeVar("Result")

MEETING = timedelta(minutes=5)
# Long, because loading data may take hours. A dead process is noticed at once: its connections close.
PATIENCE = timedelta(days=1)
SILENT = 1000  # added to the exit code of a process that prints no error of its own


class FailedElsewhere(RegnasError):
    """Another process has failed and prints the reason; this one exits without a message."""

    def __init__(self, exit_code: int) -> None:
        self.exit_code = exit_code
        super().__init__()

    def __str__(self) -> str:
        return "another process failed"  # for the log; nothing is printed


@dataclass(frozen=True)
class Processes:
    """This process: number ``rank`` of ``count`` in all, number ``local_rank`` of ``local_count`` on its machine."""

    rank: int = 0
    count: int = 1
    local_rank: int = 0
    local_count: int = 1

    @property
    def is_main(self) -> bool:
        return self.rank == 0

    @property
    def is_single(self) -> bool:
        return self.count == 1

    @property
    def share(self) -> slice:
        """The samples of a batch that this process works on: every ``count``-th one, from ``rank``."""
        return slice(self.rank, None, self.count)

    def device(self, wish: str) -> torch.device:
        """Choose the device for ``machine.device``; on CUDA, every process of a machine has its own device."""
        if self.is_single:
            return choose_device(wish)
        if wish == "cuda" and not torch.cuda.is_available():
            raise EnvironmentProblem(
                'machine.device is "cuda", but torch finds no CUDA device on this machine. Set machine.device to "cpu".'
            )
        kind = choose_device(wish).type
        if kind == "cuda":
            devices = torch.cuda.device_count()
            if self.local_count > devices:
                raise EnvironmentProblem(
                    f"each process needs a CUDA device of its own, got {self.local_count} processes and {devices} "
                    f"device{'s' * (devices != 1)}. Start as many processes as devices: "
                    f"torchrun --nproc-per-node {devices}"
                )
            device = torch.device("cuda", self.local_rank)
            torch.cuda.set_device(device)
            return device
        if kind != "cpu":
            raise ConfigurationError(
                f'machine.device "{kind}" works with one process only, got {self.count}. Set it to "cpu", or start '
                "without torchrun."
            )
        return torch.device("cpu")

    def sum_(self, tensor: Tensor) -> Tensor:
        """Sum over all processes, in place, with the same bits in each process."""
        if not self.is_single:
            from torch import distributed

            with _lost_connections(self):
                distributed.all_reduce(tensor)
        return tensor

    def mean(self, value: float) -> float:
        """Average over all processes, with the same bits in each process."""
        return value if self.is_single else float(self.sum_(torch.tensor([value], dtype=torch.float64))) / self.count

    def gather(self, tensor: Tensor) -> Tensor:
        """Stack the tensors of all processes: [processes, ...]."""
        if self.is_single:
            return tensor.unsqueeze(0)
        from torch import distributed

        everything = tensor.new_empty(self.count * tensor.numel())
        with _lost_connections(self):
            distributed.all_gather_into_tensor(everything, tensor.flatten())
        return everything.view(self.count, *tensor.shape)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Synchronize at the end of the block: if one process failed, all fail, and only the first raises its error."""
        if self.is_single:
            yield
            return
        failure: BaseException | None = None
        try:
            yield
        except Exception as error:
            failure = error
        codes = torch.zeros(self.count, dtype=torch.int64)
        codes[self.rank] = _code(failure)
        failed = [code for code in self.sum_(codes).tolist() if code]
        if not failed:
            return
        speakers = [rank for rank, code in enumerate(codes.tolist()) if 0 < code < SILENT]
        if failure is not None and self.rank == min(speakers, default=-1):
            raise failure
        raise FailedElsewhere(int(codes[speakers[0]]) if speakers else failed[0] - SILENT) from None

    def in_turn(self, work: Callable[[], Result]) -> Result:
        """Call ``work`` in the first process of every machine, then in the others, which find its cached files."""
        if self.is_single:
            return work()
        results: list[Result] = []
        for first in (True, False):
            with self.together():
                if (self.local_rank == 0) == first:
                    results.append(work())
        return results[0]

    @contextmanager
    def speaking_once(self) -> Iterator[None]:
        """Let only the main process raise an error that occurs in all processes."""
        try:
            yield
        except RegnasError as error:
            if self.is_main:
                raise
            raise FailedElsewhere(error.exit_code) from None

    def leave(self) -> None:
        """Disconnect the processes; after that, no process waits for the others."""
        if self.is_single:
            return
        from torch import distributed

        if distributed.is_initialized():
            distributed.destroy_process_group()


SINGLE = Processes()


def current_processes(environment: Mapping[str, str] = os.environ) -> Processes:
    """Read from the environment variables which processes torchrun started; does not connect them."""
    if environment.get("WORLD_SIZE", "1") == "1":
        return SINGLE
    count, rank = _number(environment, "WORLD_SIZE", 1), _number(environment, "RANK", 0)
    processes = Processes(
        rank,
        count,
        _number(environment, "LOCAL_RANK", 0) if "LOCAL_RANK" in environment else rank,
        _number(environment, "LOCAL_WORLD_SIZE", 1) if "LOCAL_WORLD_SIZE" in environment else count,
    )
    with processes.speaking_once():
        if rank >= count:
            raise ConfigurationError(f"RANK must be below WORLD_SIZE ({count}), got {rank}. Start with torchrun.")
        if not environment.get("MASTER_ADDR"):
            raise ConfigurationError(
                f"MASTER_ADDR must be set if WORLD_SIZE is {count}, got nothing. Start the processes with torchrun, or "
                "unset WORLD_SIZE."
            )
        _number(environment, "MASTER_PORT", 1)
    return processes


@contextmanager
def joined(processes: Processes) -> Iterator[None]:
    """Connect the processes inside the block."""
    if processes.is_single:
        yield
        return
    end_with_launcher()
    from torch import distributed
    from torch.distributed.rendezvous import rendezvous

    # gloo for counts and flags, which are on the CPU; nccl for gradients on CUDA.
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and distributed.is_nccl_available() else "gloo"
    address = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    try:
        store, rank, count = next(rendezvous("env://", timeout=MEETING))
        distributed.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=PATIENCE)
    except (RuntimeError, ValueError) as error:
        summary = first_line(error)
        with processes.speaking_once():
            raise EnvironmentProblem(
                f"the {processes.count} processes did not connect at {address} within {MEETING.seconds} s ({summary}). "
                "Check that all were started and can reach this address."
            ) from None
    try:
        yield
    finally:
        processes.leave()


def _number(environment: Mapping[str, str], name: str, least: int) -> int:
    value = environment.get(name, "")
    if not value.isdecimal() or int(value) < least:
        raise ConfigurationError(
            f'{name} must be a number of at least {least} for several processes, got "{value}". Start with torchrun.'
        )
    return int(value)


def _code(failure: BaseException | None) -> int:
    if failure is None:
        return 0
    if isinstance(failure, FailedElsewhere):
        return SILENT + failure.exit_code
    return failure.exit_code if isinstance(failure, RegnasError) else 1


@contextmanager
def _lost_connections(processes: Processes) -> Iterator[None]:
    """Turn a connection that another process closed into an error, which only the main process prints."""
    try:
        yield
    except RuntimeError as error:
        if not processes.is_main:
            raise FailedElsewhere(EnvironmentProblem.exit_code) from None
        raise EnvironmentProblem(
            f"another of the {processes.count} processes has ended ({first_line(error)})"
        ) from None
