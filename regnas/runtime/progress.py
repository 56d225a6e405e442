"""Progress of long work, as events for a listener.

Long work reports its progress through ``Bar`` or ``track``. This module prints nothing. The command line listens, and
shows bars or lines (``regnas.cli.progress``).

>>> with listening(lambda event: print(event.description, event.done, "of", event.total)):
...     for letter in track("ab", "letters", 2):
...         pass
letters 0 of 2
letters 1 of 2
letters 2 of 2
letters 2 of 2
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Progress:
    """The state of work in progress.

    Attributes:
        stage: The stage of the run, such as ``"export"``; empty outside of a run.
        stage_number: Its number among the stages of this call, from 1; 0 if they are not counted.
        stages: The number of stages of this call.
        description: The work inside the stage, such as ``"search family medium"``; empty when a stage begins.
        done: The number of steps that are done, including those of an earlier call.
        total: The number of all steps.
        note: A measured value, such as ``"loss 0.312"``.
        finished: Whether this is the last report of this work.
    """

    stage: str
    stage_number: int
    stages: int
    description: str
    done: int = 0
    total: int = 0
    note: str = ""
    finished: bool = False

    @property
    def heading(self) -> str:
        """The stage in words, such as ``stage 3 of 6: export``; empty outside of a run."""
        if not self.stage_number:
            return self.stage
        return f"stage {self.stage_number} of {self.stages}: {self.stage}"


Listener = Callable[[Progress], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_planned: ContextVar[tuple[str, ...]] = ContextVar("planned stages", default=())
_stage: ContextVar[str] = ContextVar("stage", default="")


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Report all progress inside the block to ``listener``; None keeps the current listener."""
    token = _listener.set(listener or _listener.get())
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def planned_stages(stages: Sequence[str]) -> Iterator[None]:
    """Number the stages inside the block, which follow in this order."""
    token = _planned.set(tuple(stages))
    try:
        yield
    finally:
        _planned.reset(token)


@contextmanager
def in_stage(stage: str) -> Iterator[Progress]:
    """Report the beginning of a stage, and all progress inside the block as part of it."""
    token = _stage.set(stage)
    try:
        beginning = _progress("")
        _report(beginning)
        yield beginning
    finally:
        _stage.reset(token)


class Bar:
    """The progress of one piece of work: ``with Bar("train", total=100) as bar: bar.advance(note="loss 0.3")``.

    Bars do not nest. A bar without a description reports nothing, for work inside other work.
    """

    def __init__(self, description: str, total: int, done: int = 0) -> None:
        self.description = description
        self.total = total
        self.done = done

    def __enter__(self) -> Self:
        self._tell()
        return self

    def advance(self, note: str = "", steps: int = 1) -> None:
        """Report finished steps, with a measured value as a note."""
        self.done += steps
        self._tell(note)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tell(finished=True)

    def _tell(self, note: str = "", finished: bool = False) -> None:
        if self.description and _listener.get() is not None:
            _report(_progress(self.description, self.done, self.total, note, finished))


def track(items: Iterable[Item], description: str, total: int) -> Iterator[Item]:
    """Yield the items and report the progress."""
    with Bar(description, total) as bar:
        for item in items:
            yield item
            bar.advance()


def _progress(description: str, done: int = 0, total: int = 0, note: str = "", finished: bool = False) -> Progress:
    stage, planned = _stage.get(), _planned.get()
    number = planned.index(stage) + 1 if stage in planned else 0
    return Progress(stage, number, len(planned) if number else 0, description, done, total, note, finished)


def _report(progress: Progress) -> None:
    listener = _listener.get()
    if listener is not None:
        listener(progress)
