"""The database of a search: opening it, also while other processes create it, and saying what is wrong with it.

Secrets stay secret: every text about an address goes through ``without_password``.
"""

from __future__ import annotations

import random
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import optuna
from optuna.storages import RDBStorage
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError

from regnas.components.paths import absolute
from regnas.errors import ArtifactError, ConfigurationError, EnvironmentProblem, RegnasError, first_line
from regnas.search.optuna_tools import quiet_optuna

# Errors of a full disk or a damaged file; which one depends on where optuna notices it.
STORAGE_ERRORS = (SQLAlchemyError, optuna.exceptions.StorageInternalError)

_SCHEME = re.compile(r"[\w+.-]+://")
_SECRET = re.compile(r"(://[^:/@\s]*):\S*@")  # up to the last @: an unescaped one may belong to the password
_SECRET_KEY = re.compile(r"(?i)(password=)[^&\s]*")

CREATION_TRIES = 12
LONGEST_PAUSE = 1.0

# What SQLite reports about the machine, not about the content of the file.
_MACHINE = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}
# SQLSTATE of PostgreSQL if another session creates the same table or row: unique violation, duplicate table, object or
# schema, serialization failure, deadlock.
_CREATED_MEANWHILE = {"23505", "42P07", "42710", "42P06", "40001", "40P01"}


def without_password(address: str) -> str:
    """Return the address of a database with its passwords hidden.

    Example:
        >>> without_password("postgresql://ann:a@b/c@host:99x/runs?password=x&ssl=1")
        'postgresql://ann:***@host:99x/runs?password=***&ssl=1'
    """
    if "@" in address and not _SCHEME.match(address):  # malformed: keep only what cannot be a password
        address = f"***@{address.rpartition('@')[2]}"
    return hide_passwords(address)


def hide_passwords(text: str) -> str:
    """Return a text with the passwords of all addresses in it hidden."""
    return _SECRET_KEY.sub(r"\1***", _SECRET.sub(r"\1:***@", text))


def recorded_address(address: str) -> str:
    """Return the address as a run folder keeps it, without its passwords.

    A run that is continued from its folder finds the password as every client of the database does: in the variable
    ``PGPASSWORD`` or in the file ``~/.pgpass``.

    Example:
        >>> recorded_address("postgresql://ann:secret@host/runs?password=x&sslmode=require")
        'postgresql://ann@host/runs?sslmode=require'
    """
    without = _SECRET.sub(r"\1@", address) if _SCHEME.match(address) else without_password(address)
    kept = re.sub(r"(?i)(?<=[?&])password=[^&]*&?", "", without)
    return kept.rstrip("?&") if kept != without else kept


def anchored_address(address: str, folder: Path) -> str:
    """Return the address with the file of a SQLite database below the folder, if its path is relative.

    Example:
        >>> anchored_address("sqlite:///studies.db", Path("/home/ann")), anchored_address("sqlite://", Path("/home"))
        ('sqlite:////home/ann/studies.db', 'sqlite://')
    """
    scheme, slashes, file = address.partition(":///")
    if not slashes or not scheme.startswith("sqlite") or not file or file.startswith((":memory:", "file:")):
        return address
    return f"{scheme}:///{absolute(file, folder)}"


def check_address(address: str) -> None:
    """Refuse an address that no driver could understand."""
    try:
        make_url(address)
    except (ArgumentError, ValueError):
        raise ConfigurationError(
            "search.storage must be an address such as postgresql://user:password@host:5432/name, got "
            f'"{without_password(address)}"'
        ) from None


def open_storage(address: str) -> RDBStorage:
    """Open the database at an address, for all studies of a run; create its tables if it is empty."""
    check_address(address)
    shown = without_password(address)
    try:
        with quiet_optuna():
            return _create_patiently(address)
    except ImportError:
        raise EnvironmentProblem(
            f"{shown} needs a driver that is not installed. For PostgreSQL: pip install 'regnas[postgresql]'"
        ) from None
    except STORAGE_ERRORS as error:
        raise storage_problem(f"the study {shown} cannot be opened", error) from None


def storage_problem(what: str, error: BaseException) -> RegnasError:
    """Describe an error of a storage: a problem of the machine (disk, permission, server), or a damaged study."""
    line = hide_passwords(first_line(error))
    for cause in _causes(error):
        if isinstance(cause, sqlite3.Error):
            code = getattr(cause, "sqlite_errorcode", None)
            if code is not None and code & 0xFF in _MACHINE:
                return EnvironmentProblem(f"{what}: {line}. Check the free disk space and the permissions.")
            return ArtifactError(f"{what}: {line}")
    if any(isinstance(cause, OperationalError) for cause in _causes(error)):
        return EnvironmentProblem(
            f"{what}: {line}. Check that the database runs, and that the password is in PGPASSWORD or ~/.pgpass: run "
            "folders do not keep it."
        )
    return ArtifactError(f"{what}: {line}")


def _create_patiently(address: str) -> RDBStorage:
    """Create the tables that are missing; try again if another process creates them at the same moment.

    Optuna looks for the tables and then creates them, so that two processes can both find none. Creating what is still
    missing is safe to repeat.
    """
    for tried in range(1, CREATION_TRIES + 1):
        try:
            return RDBStorage(address)
        except STORAGE_ERRORS as error:
            if tried == CREATION_TRIES or not _was_created_meanwhile(error):
                raise
            time.sleep(random.uniform(0, min(LONGEST_PAUSE, 0.02 * 2**tried)))
    raise AssertionError


def _was_created_meanwhile(error: BaseException) -> bool:
    for cause in _causes(error):
        if isinstance(cause, sqlite3.IntegrityError):
            return True
        if isinstance(cause, sqlite3.OperationalError):
            busy = getattr(cause, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
            return busy or "already exists" in str(cause)
        if getattr(cause, "sqlstate", None) in _CREATED_MEANWHILE:
            return True
    return False


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, what caused it, and the errors of the driver behind them."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        if isinstance(error, DBAPIError) and isinstance(error.orig, BaseException):
            yield error.orig
        error = error.__cause__ or error.__context__
