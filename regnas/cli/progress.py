"""Show progress on standard error: a bar on a terminal, otherwise lines for work of more than two seconds."""

from __future__ import annotations

import sys
import time

from rich import progress as rich_progress
from rich.console import Console

from regnas.runtime.printable import printable
from regnas.runtime.progress import Progress

FIRST_LINE_AFTER = 2.0
LINE_EVERY = 10.0


class TerminalProgress:
    """A listener for ``regnas.runtime.progress`` that shows each stage once, and the progress of its work."""

    def __init__(self) -> None:
        self._shown_stage = ""
        self._work: _Bar | _Lines | None = None

    def __call__(self, event: Progress) -> None:
        if not event.description:  # a stage begins; it is shown with its first long work
            return
        if self._work is None:
            self._work = _Bar(event) if sys.stderr.isatty() else _Lines(event)
        if event.finished:
            self._work.stop()
            self._work = None
        elif self._work.is_due():
            if event.heading and event.heading != self._shown_stage:
                self._shown_stage = event.heading
                self._work.print(event.heading)
            self._work.show(event)


class _Bar:
    def __init__(self, event: Progress) -> None:
        columns = (
            rich_progress.TextColumn("{task.description}", markup=False),
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TimeElapsedColumn(),
            rich_progress.TimeRemainingColumn(),
            rich_progress.TextColumn("{task.fields[note]}", markup=False),
        )
        self._bars = rich_progress.Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bars.add_task(printable(event.description), total=event.total, completed=event.done, note="")
        self._bars.start()

    def is_due(self) -> bool:
        return True

    def print(self, line: str) -> None:
        self._bars.console.print(printable(line), markup=False, highlight=False)

    def show(self, event: Progress) -> None:
        self._bars.update(self._task, completed=event.done, note=event.note)

    def stop(self) -> None:
        self._bars.stop()


class _Lines:
    def __init__(self, event: Progress) -> None:
        self._resumed_at = event.done
        self._started = time.monotonic()
        self._next_line = self._started + FIRST_LINE_AFTER

    def is_due(self) -> bool:
        return time.monotonic() >= self._next_line

    def print(self, line: str) -> None:
        print(printable(line), file=sys.stderr, flush=True)

    def show(self, event: Progress) -> None:
        now = time.monotonic()
        self._next_line = now + LINE_EVERY
        left = (now - self._started) / max(event.done - self._resumed_at, 1) * (event.total - event.done)
        line = f"{event.description}: {event.done}/{event.total}, about {left:.0f} s left"
        self.print(f"{line}, {event.note}" if event.note else line)

    def stop(self) -> None:
        """Do nothing, because lines need no end."""
