"""Progress of everything that takes longer than two seconds: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Item = TypeVar("Item")

FIRST_LINE_AFTER = 2.0
LINE_EVERY = 10.0


class Bar:
    """``with Bar("train", total=100) as bar: bar.advance(note="loss 0.3")``.

    Bars do not nest; one without a description is silent, for work inside other work.
    """

    def __init__(self, description: str, total: int, done: int = 0) -> None:
        self.description = description
        self.total = total
        self.done = done
        self._resumed_at = done
        self._started = time.monotonic()
        self._next_line = self._started + FIRST_LINE_AFTER
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        if self.description and sys.stderr.isatty():
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}"),
            )
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task(self.description, total=self.total, completed=self.done, note="")
            self._progress.start()
        return self

    def advance(self, note: str = "", steps: int = 1) -> None:
        self.done += steps
        if self._progress is not None:
            self._progress.update(self._task, completed=self.done, note=note)
            return
        now = time.monotonic()
        if self.description and now >= self._next_line:
            self._next_line = now + LINE_EVERY
            left = (now - self._started) / (self.done - self._resumed_at) * (self.total - self.done)
            line = f"{self.description}: {self.done}/{self.total}, about {left:.0f} s left"
            print(f"{line}, {note}" if note else line, file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()


def track(items: Iterable[Item], description: str, total: int) -> Iterator[Item]:
    """Hand the items on and show how far along they are."""
    with Bar(description, total) as bar:
        for item in items:
            yield item
            bar.advance()
