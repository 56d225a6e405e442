"""Handle signals so that they stop the work only at points at which nothing is lost.

A command begins with ``quit_on_signals()``: SIGINT and SIGTERM end it at once, with one line and 128 + their number.

Inside ``with postponed_signals():`` the first SIGINT or SIGTERM is only recorded. The work calls ``stop_if_asked()``
at safe places, where everything is on disk. A second signal ends the process at once.

Inside ``with postponed_interrupt():``, which is for calls from Python, the first SIGINT raises ``KeyboardInterrupt`` at
the next safe place, and the second one raises it at once. Other signals are left to the caller.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from regnas.errors import Interrupted
from regnas.runtime.temporary import remove_own

NUMBERS = (signal.SIGINT, signal.SIGTERM)
_received: list[int] = []


def quit_on_signals(result: int | None = None) -> None:
    """Let SIGINT and SIGTERM end this process at once; for commands, in the main thread.

    Nothing is raised, because an exception in the middle of an import, a destructor or a callback would be lost or
    reported as a bug. Before the work, and in commands that write only their result, nothing must be kept, and only
    temporary files must be removed.

    Args:
        result: the exit code of a finished command; a signal then only ends it sooner.
    """

    def quit_now(number: int, frame: FrameType | None) -> NoReturn:
        if result is not None:
            os._exit(result)
        _quit(number)

    if result is None:
        atexit.register(_ignore_signals)  # the first to be registered is the last to be called
    for number in _heeded():
        signal.signal(number, quit_now)


@contextmanager
def blocked_signals() -> Iterator[None]:
    """Keep SIGINT and SIGTERM waiting for the length of the block; those that come are heeded after it.

    By a handler and not by the mask of this thread: the system may give a signal to any other thread.
    """
    waiting: list[int] = []

    def wait(number: int, frame: FrameType | None) -> None:
        waiting.append(number)

    previous = {number: signal.signal(number, wait) for number in _heeded()}
    try:
        yield
    finally:
        for number, handler in previous.items():
            if signal.getsignal(number) is wait:  # the block may have installed another one
                signal.signal(number, handler)
        for came in waiting[:1]:
            signal.raise_signal(came)


@contextmanager
def postponed_signals() -> Iterator[None]:
    """Postpone SIGINT and SIGTERM inside the block to safe places (main thread only)."""
    _received.clear()
    previous = {number: signal.signal(number, _note) for number in _heeded()}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        _received.clear()  # the request does not concern later work in this process


@contextmanager
def postponed_interrupt() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` inside the block only at the next safe place.

    This has no effect outside the main thread, inside ``postponed_signals``, or if the caller has its own handler.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    _received.clear()
    signal.signal(signal.SIGINT, _note_interrupt)
    try:
        yield
    except Interrupted as error:
        raise KeyboardInterrupt(str(error)) from error
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _received.clear()


def ask_to_stop(number: int) -> None:
    """Act as if the signal had arrived for the first time."""
    if not _received:
        _received.append(number)


def asked_to_stop() -> bool:
    """Whether a signal arrived."""
    return bool(_received)


def received() -> int:
    """Return the number of the signal, or 0."""
    return _received[0] if _received else 0


def stop_if_asked() -> None:
    """Raise ``Interrupted`` if a signal arrived; for places where everything so far is on disk."""
    if _received:
        raise Interrupted(_received[0])


def stop_unwritten() -> None:
    """Raise ``Interrupted`` if a signal arrived; for places where nothing is on disk yet."""
    if _received:
        raise Interrupted(_received[0], "nothing was written")


def _heeded() -> list[signal.Signals]:
    """Return the signals that the process does not ignore.

    Ignored signals stay ignored: the terminal must not interrupt commands under nohup or in the background of a script.
    """
    return [number for number in NUMBERS if signal.getsignal(number) is not signal.SIG_IGN]


def _ignore_signals() -> None:
    """Ignore signals during the exit of Python, when a finished command without handlers would be killed."""
    for number in _heeded():
        signal.signal(number, signal.SIG_IGN)


def _quit(number: int) -> NoReturn:
    """End this process now. Complete files stay, and a run can be continued from them."""
    remove_own()
    if os.environ.get("RANK", "0") == "0":  # torchrun sends its signal to all processes; one of them prints
        with suppress(OSError):
            os.write(2, f"regnas: interrupted by {signal.Signals(number).name}\n".encode())
    os._exit(128 + number)


def _note(number: int, frame: FrameType | None) -> None:
    if _received:
        _quit(number)
    ask_to_stop(number)


def _note_interrupt(number: int, frame: FrameType | None) -> None:
    if _received:
        raise KeyboardInterrupt
    ask_to_stop(number)
