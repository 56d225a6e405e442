"""Stopping where nothing is lost.

Inside ``with postponed_signals():`` the first SIGINT or SIGTERM only leaves a note; the work asks ``stop_if_asked()``
at the places where everything is on disk. A second signal quits at once.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from regnas.errors import Interrupted

_received: list[int] = []


@contextmanager
def postponed_signals() -> Iterator[None]:
    """Take over SIGINT and SIGTERM for the length of the block (main thread only)."""
    _received.clear()
    previous = {number: signal.signal(number, _note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        _received.clear()  # what comes next in this process was not asked to stop


def ask_to_stop(number: int) -> None:
    """As if the signal had arrived for the first time."""
    if not _received:
        _received.append(number)


def asked_to_stop() -> bool:
    return bool(_received)


def received() -> int:
    """The number of the signal, or 0."""
    return _received[0] if _received else 0


def stop_if_asked() -> None:
    """To be called only where everything so far is on disk."""
    if _received:
        raise Interrupted(_received[0])


def stop_unwritten() -> None:
    """To be called only where nothing is on disk yet."""
    if _received:
        raise Interrupted(_received[0], "nothing was written")


def _note(number: int, frame: FrameType | None) -> None:
    if _received:
        os._exit(128 + number)
    ask_to_stop(number)
