"""Open the database of a search, also while other processes create it, and describe its errors.

Every message with an address hides the password with ``without_password``.
"""

from __future__ import annotations

import random
import sqlite3
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import RDBStorage
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from regnas.errors import ArtifactError, ConfigurationError, EnvironmentProblem, RegnasError, first_line
from regnas.runtime.environment import environment_cause
from regnas.runtime.files import write_bytes
from regnas.runtime.secrets import without_password
from regnas.search.optuna_tools import quiet_optuna

# Errors of a full disk or a damaged file; which one depends on where optuna notices it.
STORAGE_ERRORS = (SQLAlchemyError, optuna.exceptions.StorageInternalError)

CREATION_TRIES = 12
LONGEST_PAUSE = 1.0
SQLITE_SECONDS = 60  # to wait for another run that writes

# Error codes of SQLite that concern the machine, not the content of the file.
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


def check_address(address: str) -> None:
    """Refuse an address that is not a database URL."""
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
        with damage_refused(f"the study {shown} cannot be opened"), quiet_optuna():
            storage = _create_patiently(_with_driver(address))
    except ImportError:
        raise EnvironmentProblem(
            f"{shown} needs a driver that is not installed. For PostgreSQL, run: pip install 'regnas[postgresql]'"
        ) from None
    weakref.finalize(storage, storage.engine.dispose)  # closes its connections when it is no longer used
    return storage


@contextmanager
def damage_refused(what: str) -> Iterator[None]:
    """Turn errors of reading a storage into one line that starts with ``what``: "the study x cannot be read"."""
    try:
        yield
    except RegnasError:
        raise
    except STORAGE_ERRORS as error:
        raise storage_problem(what, error) from None
    except (MemoryError, ImportError):
        raise
    except Exception as error:  # optuna does not check the values of a damaged database
        if environment_cause(error) is not None:
            raise
        raise ArtifactError(f"{what}: {first_line(error)}") from None


def storage_problem(what: str, error: BaseException) -> RegnasError:
    """Describe an error of a storage: a problem of the machine (disk, permission, server), or a damaged study."""
    line = first_line(error)
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
    _create_file(address)
    for tried in range(1, CREATION_TRIES + 1):
        try:
            return RDBStorage(address, engine_kwargs=_engine_settings(address))
        except STORAGE_ERRORS as error:
            if tried == CREATION_TRIES or not _was_created_meanwhile(error):
                raise
            time.sleep(random.uniform(0, min(LONGEST_PAUSE, 0.02 * 2**tried)))
    raise AssertionError


def _create_file(address: str) -> None:
    """Create a file of SQLite that does not exist, as a whole.

    SQLite creates tables and indices one by one. If a full disk or a kill interrupts this, Optuna later finds the
    tables and does not create the missing indices, without which two studies can have the same name.
    """
    name = make_url(address).database
    if make_url(address).get_backend_name() != "sqlite" or not name or name.startswith((":", "file:")):
        return
    path = Path(name)
    if path.parent.is_dir() and not path.exists():
        in_memory = RDBStorage("sqlite://", engine_kwargs={"poolclass": StaticPool})
        connection = in_memory.engine.raw_connection()
        content = connection.driver_connection.serialize()  # type: ignore[union-attr]
        connection.close()
        in_memory.engine.dispose()
        write_bytes(path, content, replace=False)


def _with_driver(address: str) -> str:
    """Name the driver that the extra installs, because the default depends on the version of SQLAlchemy."""
    scheme, rest = address.split("://", 1)
    return f"{'postgresql+psycopg' if scheme == 'postgresql' else scheme}://{rest}"


def _engine_settings(address: str) -> dict[str, Any]:
    """Let runs that share a SQLite file wait for each other, and replace connections that the server has closed.

    A run opens its database before it trains, and a server may be restarted in the hours until the search.
    """
    if address.startswith("sqlite"):
        return {"connect_args": {"timeout": SQLITE_SECONDS}}
    return {"pool_pre_ping": True}


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
    """Yield an error, its causes, and the errors of the driver behind them."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        if isinstance(error, DBAPIError) and isinstance(error.orig, BaseException):
            yield error.orig
        error = error.__cause__ or error.__context__
