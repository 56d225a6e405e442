"""Recognize failures of the machine in the errors of any library: no space, no permission, too many open files.

Libraries wrap the errors of the system in their own exceptions, or only quote them. ``environment_cause`` looks for
them in an exception and in all of its causes.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from regnas.errors import EnvironmentProblem, Interrupted, RegnasError, first_line

MAY_WRITE = "Choose a folder that you may write to."
REMEDIES = {
    errno.ENOSPC: "Free some disk space.",
    errno.EDQUOT: "Free some of your disk quota.",
    errno.EFBIG: "Raise the limit of the size of files (ulimit -f).",
    errno.EACCES: MAY_WRITE,
    errno.EPERM: MAY_WRITE,
    errno.EROFS: "Choose a folder that is not read-only.",
    errno.EMFILE: "Raise the limit of open files (ulimit -n).",
    errno.ENFILE: "Close other programs: the system has too many open files.",
    errno.ENAMETOOLONG: "Choose shorter names.",
    errno.EIO: "Check the disk, and whether you may write to it.",
    errno.ENOMEM: "Free some memory.",
}
# Bad data never cause these errors, so they override an error about data. A file that may not be read is bad data.
NEVER_DATA = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.EIO)
# The texts of libraries that do not pass the number on: Rust's "(os error 28)" or "Os { code: 28", C++ streams, SQLite.
QUOTED = re.compile(r"\b(?:os error |Os \{ code: )(\d+)|\[Errno (\d+)\]")
TEXTS = {os.strerror(number).lower(): number for number in REMEDIES} | {
    "pytorchstreamwriter failed writing": errno.EIO,
    "database or disk is full": errno.ENOSPC,
    "attempt to write a readonly database": errno.EROFS,
}
IN_SQLITE = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EIO,
}


@contextmanager
def environment_problems() -> Iterator[None]:
    """Raise an ``EnvironmentProblem`` instead of an exception that the machine caused."""
    try:
        yield
    except (EnvironmentProblem, Interrupted):
        raise
    except Exception as error:
        found = environment_cause(error)
        if found is None or (isinstance(error, RegnasError) and found.errno not in NEVER_DATA):
            raise
        raise environment_problem(found) from error


def environment_problem(error: OSError, path: object = None) -> EnvironmentProblem:
    """Describe in one line the file, the reason and the remedy."""
    named = path or error.filename2 or error.filename
    remedy = REMEDIES.get(error.errno or 0, "Check that the folder exists and that you may write to it.")
    return EnvironmentProblem(
        f"cannot {'write' if path else 'use'} {named or 'a file'}: {error.strerror or error}. {remedy}"
    )


def environment_cause(error: BaseException) -> OSError | None:
    """Return the error of the machine in the chain of causes of an exception, if there is one.

    Example:
        >>> environment_cause(RuntimeError("cannot save: No space left on device")).errno == errno.ENOSPC
        True
    """
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        number = _number_of(each)
        if number in REMEDIES:
            if isinstance(each, OSError):
                return each
            return OSError(number, first_line(each))
        each = each.__cause__ or each.__context__
    return None


def _number_of(error: BaseException) -> int:
    if isinstance(error, OSError):
        return error.errno or 0
    if isinstance(error, sqlite3.Error):
        return IN_SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, 0)
    if isinstance(error, RegnasError):
        return 0  # its text may quote files and values
    text = str(error)
    if quoted := QUOTED.search(text):
        return int(quoted[1] or quoted[2])
    return next((number for words, number in TEXTS.items() if words in text.lower()), 0)
