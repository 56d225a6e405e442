"""``metrics.jsonl``: the course of a training, one line per interval, which the loggers get as well.

A line has means over the steps since the line before. The steps add values without converting them, because a value of
a tensor on a device would make the step wait. Everything in a line depends on the training alone. Therefore a training
that is continued ends with the same file: lines after its checkpoint are dropped, and what was collected since the last
line before an interruption is kept as ``unfinished``.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, TextIO

import torch
from torch import Tensor

from regnas.errors import EnvironmentProblem, Interrupted, RegnasError, first_line
from regnas.runtime.environment import environment_problem
from regnas.runtime.files import digest_of, parse_json, write_text
from regnas.training.clipping import Clipping
from regnas.training.loggers.logger import LOGGERS, Log, LoggedTraining, Logger

METRICS = "metrics.jsonl"
LINES_PER_EPOCH = 100
DIGITS = 7  # of a value, as many as float32 has
UNFINISHED = "unfinished"

Number = float | Tensor

log = logging.getLogger("regnas")


@dataclass(frozen=True)
class RunLoggers:
    """The loggers of a run, and what they are told about it."""

    loggers: tuple[Logger, ...] = ()
    run: str = ""
    identity: str = ""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()

    def logs(self, name: str, training: Path, first: int) -> dict[str, Log]:
        """Open the logs of a training whose checkpoints are in this folder."""
        if not self.loggers:
            return {}
        inside = training.is_relative_to(self.folder)  # not if it belongs to a cache
        place = training.relative_to(self.folder) if inside else Path(*training.parts[-2:])
        identity = digest_of([self.identity, name, place.as_posix()])[:16]
        told = LoggedTraining(self.run, name, identity, self.configuration, self.folder, first)
        return {f"{index} {_name_of(logger)}": _opened(logger, told) for index, logger in enumerate(self.loggers)}


def _name_of(logger: Logger) -> str:
    return LOGGERS.name_of(logger) or type(logger).__name__


def _opened(logger: Logger, training: LoggedTraining) -> Log:
    try:
        return logger.open(training)
    except RegnasError:
        raise
    except Exception as error:
        raise EnvironmentProblem(
            f"the logger {_name_of(logger)} must open its log, got {type(error).__name__}: {first_line(error)}. Repair "
            "it, or remove it from [[loggers]]."
        ) from error


class Metrics:
    """Collects the values of steps; writes a line at the end of every interval, epoch and training."""

    def __init__(self, file: _File, logs: dict[str, Log], last: int, steps_per_epoch: int) -> None:
        self._file = file
        self._logs = logs
        self._last = last
        self._steps_per_epoch = steps_per_epoch
        self._interval = math.ceil(steps_per_epoch / LINES_PER_EPOCH)
        self._step = 0
        self._losses: list[Number] = list(file.unfinished.get("losses", ()))
        self._norms: list[Number] = list(file.unfinished.get("norms", ()))

    @classmethod
    def open(cls, loggers: RunLoggers, name: str, folder: Path, done: int, last: int, steps_per_epoch: int) -> Metrics:
        """Open the file and the logs of a training of which earlier processes finished ``done`` steps."""
        logs = loggers.logs(name, folder, done + 1)
        try:
            file = _File(folder / METRICS, done)
        except OSError as error:
            raise environment_problem(error, folder / METRICS) from error
        return cls(file, logs, last, steps_per_epoch)

    def __enter__(self) -> Metrics:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and issubclass(kind, Interrupted) and self._losses:
            kept = {"losses": _numbers(self._losses), "norms": _numbers(self._norms)}
            self._file.add({"step": self._step, UNFINISHED: kept})
        self._file.close()
        for name, each in list(self._logs.items()):
            with self._tolerated(name):
                each.close(kind is None)

    def add(self, step: int, loss: Number, gradient_norm: Number, learning_rate: Number, clipping: Clipping) -> None:
        """Add the values of a step, counted from 1; values of a device are not read before the end of the interval."""
        self._step = step
        self._losses.append(loss)
        self._norms.append(gradient_norm)
        if step % self._steps_per_epoch % self._interval == 0 or step == self._last:
            self._write(float(learning_rate), clipping)

    def _write(self, learning_rate: float, clipping: Clipping) -> None:
        found = {
            "epoch": self._step / self._steps_per_epoch,
            "loss": fmean(_numbers(self._losses)),
            "learning_rate": learning_rate,
            "gradient_norm": fmean(_numbers(self._norms)),
            "clipped_share": clipping.share,
        }
        self._losses, self._norms = [], []
        values = {name: float(f"{value:.{DIGITS}g}") for name, value in found.items() if math.isfinite(value)}
        self._file.add({"step": self._step, **values})
        for name, each in list(self._logs.items()):
            with self._tolerated(name):
                each.log(self._step, values)

    @contextmanager
    def _tolerated(self, name: str) -> Iterator[None]:
        """Continue without a logger that fails: hours of training must not depend on a server."""
        try:
            yield
        except Exception as error:
            del self._logs[name]
            shown = name.partition(" ")[2]
            log.warning("the logger %s failed and gets no more values: %s", shown, first_line(error))


class _File:
    """The lines of ``metrics.jsonl``; when it is opened, lines after the ``done`` steps are dropped."""

    def __init__(self, path: Path, done: int) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text("utf-8", "replace") if path.exists() else ""
        lines = [line for line in _complete_lines(before) if line["step"] <= done]
        self.unfinished: dict[str, list[float]] = {}
        if lines and UNFINISHED in lines[-1]:
            last = lines.pop()
            self.unfinished = last[UNFINISHED] if last["step"] == done else {}
        kept = "".join(map(_line, lines))
        if kept != before:
            write_text(path, kept)
        self._handle: TextIO = path.open("a", encoding="utf-8")

    def add(self, line: Mapping[str, Any]) -> None:
        try:
            self._handle.write(_line(line))
            self._handle.flush()
        except OSError as error:
            raise environment_problem(error, self._path) from error

    def close(self) -> None:
        with suppress(OSError):  # a line that could not be written was reported already
            self._handle.close()


def _complete_lines(text: str) -> Iterator[dict[str, Any]]:
    """Parse the lines up to the first that a killed process left incomplete."""
    for line in text.splitlines():
        try:
            content = parse_json(line)
        except ValueError:
            return
        if not isinstance(content, dict) or not isinstance(content.get("step"), int):
            return
        yield content


def _line(content: Mapping[str, Any]) -> str:
    return json.dumps(content) + "\n"


def _numbers(values: Sequence[Number]) -> list[float]:
    """Convert values; the tensors, which are on one device, by a single transfer."""
    tensors = [value.detach().reshape(()).double() for value in values if isinstance(value, Tensor)]
    known = iter(torch.stack(tensors).tolist() if tensors else ())
    return [next(known) if isinstance(value, Tensor) else value for value in values]
