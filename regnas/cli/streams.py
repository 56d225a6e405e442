"""Standard output and standard error as a shell may hand them over: closed, full, a broken pipe, or not UTF-8.

Output that cannot be written is an error of the environment: a gate that nobody can read has not passed. Messages on
standard error that cannot be written are dropped: they must not stop the work that they describe.
"""

from __future__ import annotations

import codecs
import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from regnas.errors import EnvironmentProblem, RegnasError

REPLACEMENTS = {"→": "->", "−": "-", "–": "-", "±": "+-", "×": "x", "…": "...", "≤": "<=", "≥": ">=", "─": "-"}
HANDLER = "regnas.replace"


class BrokenPipe(RegnasError):
    """The reader of the output has gone, as in ``regnas list | head``: end without a word, as other programs do."""

    exit_code = 128 + signal.SIGPIPE


@contextmanager
def checked_streams() -> Iterator[None]:
    """Let ``sys.stdout`` and ``sys.stderr`` fail in a documented way for the length of the block."""
    codecs.register_error(HANDLER, _replace)
    before = sys.stdout, sys.stderr
    out = sys.stdout or _reopen(1, os.O_RDONLY)  # writing to it fails, as it should
    err = sys.stderr or _reopen(2, os.O_WRONLY)
    for stream in (out, err):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=HANDLER)
    sys.stdout, sys.stderr = _Output(out), _Messages(err)
    try:
        yield
    finally:
        for stream, number in ((out, 1), (err, 2)):
            try:
                stream.flush()
            except (OSError, ValueError):
                _discard(number)  # else Python tries again at its end, and changes the exit code
        sys.stdout, sys.stderr = before


class _Stream:
    """The part of a text stream that printing needs; without ``buffer``, so that nothing goes around it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.encoding = getattr(stream, "encoding", "utf-8")
        self.errors = HANDLER

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True


class _Output(_Stream):
    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except (OSError, ValueError) as error:
            raise _problem(error) from error

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError) as error:
            raise _problem(error) from error


class _Messages(_Stream):
    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


def _problem(error: OSError | ValueError) -> RegnasError:
    if isinstance(error, OSError) and error.errno == errno.EPIPE:
        return BrokenPipe()
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return EnvironmentProblem(f"cannot write to standard output: {reason}. Send it to a file that can be written.")


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Replace what the encoding lacks by something readable: "->" for an arrow, escapes for the rest."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    known = (REPLACEMENTS.get(character) for character in missing)
    escaped = (character.encode("ascii", "backslashreplace").decode() for character in missing)
    return "".join(one or other for one, other in zip(known, escaped, strict=True)), error.end


def _reopen(number: int, flags: int) -> TextIO:
    """Open the null device under the number of a closed stream, which the next file would get otherwise."""
    opened = os.open(os.devnull, flags)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return os.fdopen(number, "w", encoding="utf-8", closefd=False)


def _discard(number: int) -> None:
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, number)
        os.close(null)
