"""Print on standard output and standard error, which may be closed, full, broken pipes or not UTF-8.

The commands print as usual. While a command runs, ``guarded_streams`` replaces both streams:

- If standard output cannot be written, the command ends, because its result would be lost. If the reader of a pipe is
  gone, it ends silently with 128 + SIGPIPE, as other programs do.
- If standard error cannot be written, the command continues, because standard error has only progress and messages.
- Characters that the encoding of a stream lacks become ASCII.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

import typer
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment

from regnas.errors import EnvironmentProblem, RegnasError
from regnas.runtime.printable import without_controls

PIPED_WIDTH = 140  # if the output is not a terminal and COLUMNS is not set; rich would assume 80 and cut names
REDIRECT = "Redirect it to a file that can be written, or to /dev/null."
# The characters beside ASCII in tables, help texts and messages; all others become escapes.
ASCII = str.maketrans(
    {"─": "-", "━": "=", "│": "|", "┃": "|", "…": "...", "→": "->", "–": "-", "−": "-", "·": "-", "×": "x", "±": "+-"}
    | dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼╷╵╴╶╸╺", "+")
)


class BrokenOutput(RegnasError):
    """The reader of a pipe is gone; nothing is printed about it."""

    exit_code = 128 + signal.SIGPIPE

    def __init__(self) -> None:
        super().__init__()  # no problems, so that nothing is printed


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Guard ``sys.stdout`` and ``sys.stderr`` inside the block.

    The file descriptor of a closed stream is given to /dev/null. Otherwise the next opened file would get it, and the
    output of a library would end up in that file.
    """
    before = sys.stdout, sys.stderr
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        if stream is None:
            _redirect_to_null(number)
    sys.stdout = _Guarded(before[0], required=True)
    sys.stderr = _Guarded(before[1], required=False)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def print_table(table: RenderableType, console: Console | None = None) -> None:
    """Print a table on standard output; names in it cannot control the terminal."""
    (console or wide_console()).print(_WithoutControls(table))


def say(text: str, error: bool = False) -> None:
    """Print lines on standard output or standard error; names in them cannot control the terminal."""
    typer.echo(without_controls(text), err=error)


def wide_console() -> Console:
    """Return a console as wide as the terminal or COLUMNS; without either, wide enough for most tables."""
    chosen = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(width=None if chosen else PIPED_WIDTH)


class _Guarded(io.TextIOBase):
    """A text stream that guards another one; it has no ``buffer``, which would bypass it."""

    def __init__(self, stream: TextIO | None, required: bool) -> None:
        self._stream = stream
        self._required = required
        self._error: OSError | None = None  # the reason why the stream was given up

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self._stream, "encoding", None) or "utf-8"

    def fileno(self) -> int:
        if self._stream is None:
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self._stream is None:
            self._lose(self._error)
        else:
            try:
                self._stream.write(self._encodable(text))
            except OSError as error:
                self._lose(error)
        return len(text)

    def flush(self) -> None:
        if self._stream is not None:
            try:
                self._stream.flush()
            except OSError as error:
                self._lose(error)

    def _encodable(self, text: str) -> str:
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            text = text if self.encoding.lower().startswith("utf") else text.translate(ASCII)
            return text.encode(self.encoding, "backslashreplace").decode(self.encoding)
        return text

    def _lose(self, error: OSError | None) -> None:
        """Give up the stream. Its unwritten text goes to /dev/null, because Python would report it at the exit."""
        stream, self._stream, self._error = self._stream, None, error
        if stream is not None:
            with suppress(OSError, ValueError):
                _redirect_to_null(stream.fileno())
                stream.flush()
        if not self._required:
            return
        if error is not None and error.errno == errno.EPIPE:
            raise BrokenOutput from error
        reason = "it is closed" if error is None else error.strerror
        raise EnvironmentProblem(f"cannot write to standard output: {reason}. {REDIRECT}") from error


class _WithoutControls:
    """A table whose texts have no control characters; the console adds those of its styles later."""

    def __init__(self, table: RenderableType) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._table, options):
            yield segment if segment.control else Segment(without_controls(segment.text), segment.style)


def _redirect_to_null(number: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    if null != number:
        os.dup2(null, number)
        os.close(null)
    else:
        os.set_inheritable(null, True)
