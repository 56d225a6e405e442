"""Databases that several processes open at once, that are full or damaged, and whose addresses hold passwords."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
from pathlib import Path

import optuna
import pytest

from regnas.errors import ArtifactError, ConfigurationError, EnvironmentProblem
from regnas.runtime.secrets import recorded_address, without_password
from regnas.search import Study, open_storage, sqlite_storage

PROCESSES = 6


def _open(address, ready, opened):
    ready.wait()
    try:
        storage = open_storage(address)
        optuna.create_study(storage=storage, study_name=f"run {os.getpid()}")
        storage.engine.dispose()
        opened.put("")
    except BaseException as error:
        opened.put(repr(error))


def open_at_once(address):
    """Open an empty database in several processes at the same moment; return what went wrong."""
    context = multiprocessing.get_context("fork")
    ready, opened = context.Barrier(PROCESSES), context.Queue()
    processes = [context.Process(target=_open, args=(address, ready, opened)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    outcomes = [opened.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    return [outcome for outcome in outcomes if outcome]


def studies_in(address):
    storage = open_storage(address)
    found = optuna.get_all_study_names(storage)
    storage.engine.dispose()
    return len(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processes_create_a_sqlite_database_at_the_same_moment(tmp_path):
    for number in range(5):
        address = sqlite_storage(tmp_path / f"{number}.db")
        assert open_at_once(address) == []
        assert studies_in(address) == PROCESSES


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processes_create_a_postgresql_database_at_the_same_moment(postgresql_server):
    for number in range(3):
        postgresql_server.create(f"runs{number}")
        address = postgresql_server.address(f"runs{number}")
        assert open_at_once(address) == []
        assert studies_in(address) == PROCESSES


@pytest.mark.slow
def test_a_database_that_was_restarted_since_it_was_opened_is_used_again(postgresql_server, space):
    """A run opens its database before it trains."""
    postgresql_server.create("restarted")
    storage = open_storage(postgresql_server.address("restarted"))
    postgresql_server.stop()
    postgresql_server.start()
    assert Study(storage, "family/small", space).trials() == []
    storage.engine.dispose()


def test_a_full_disk_is_a_problem_of_the_machine(tmp_path):
    program = (
        "import optuna, resource, signal, sys\n"
        "from regnas.search.database import STORAGE_ERRORS, open_storage, storage_problem\n"
        "storage = open_storage(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    optuna.create_study(storage=storage)\n"
        "except STORAGE_ERRORS as error:\n"
        "    found = storage_problem('the study', error)\n"
        "    print(found.exit_code, found)\n"
    )
    from benchmarks.processes import PythonProcess

    ended = PythonProcess("-c", program, sqlite_storage(tmp_path / "study.db")).finish()
    assert ended.stdout.startswith("5 the study: "), ended
    assert "Check the free disk space" in ended.stdout


def test_a_folder_that_does_not_exist_is_a_problem_of_the_machine_and_a_foreign_file_a_damaged_study(tmp_path):
    with pytest.raises(EnvironmentProblem, match="unable to open database file"):
        open_storage(sqlite_storage(tmp_path / "missing" / "study.db"))
    (tmp_path / "study.db").write_bytes(b"no database" * 100)
    with pytest.raises(ArtifactError, match="file is not a database"):
        open_storage(sqlite_storage(tmp_path / "study.db"))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://bob:s3cret@127.0.0.1:99x/db",
        "postgresql:/bob:s3cret@127.0.0.1/db?password=s3cret",
        "bob:s3cret@host:5432/db",
        "://bob:s3cr@/et:s3cret@host/db",
    ],
)
def test_a_malformed_address_is_refused_without_its_password(address):
    with pytest.raises(ConfigurationError, match=r"search\.storage must be an address") as refusal:
        open_storage(address)
    assert "s3cr" not in str(refusal.value)


@pytest.mark.parametrize(
    ("address", "shown", "recorded"),
    [
        ("postgresql://ann:a@b/c@host/runs", "postgresql://ann:***@host/runs", "postgresql://ann@host/runs"),
        ("postgresql://ann@host/runs", "postgresql://ann@host/runs", "postgresql://ann@host/runs"),
        (
            "postgresql://host/runs?password=x&a=1",
            "postgresql://host/runs?password=***&a=1",
            "postgresql://host/runs?a=1",
        ),
        (
            "postgresql://host/runs?sslpassword=x&a=1",
            "postgresql://host/runs?sslpassword=***&a=1",
            "postgresql://host/runs?a=1",
        ),
        ("postgresql://ann:a b@host/runs", "postgresql://ann:***@host/runs", "postgresql://ann@host/runs"),
        ("sqlite:///runs/study.db", "sqlite:///runs/study.db", "sqlite:///runs/study.db"),
    ],
)
def test_passwords_are_neither_shown_nor_recorded(address, shown, recorded):
    assert without_password(address) == shown
    assert recorded_address(address) == recorded


def test_a_database_whose_creation_fails_is_absent_and_is_created_as_a_whole_later(tmp_path):
    """A full disk between a table and its index once left a database in which studies could have the same name."""
    path = tmp_path / "study.db"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for size in range(0, 60_000, 4096):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
            with pytest.raises(EnvironmentProblem):
                open_storage(sqlite_storage(path))
            assert list(tmp_path.iterdir()) == []
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    storage = open_storage(sqlite_storage(path))
    optuna.create_study(storage=storage, study_name="one")
    with pytest.raises(optuna.exceptions.DuplicatedStudyError):
        optuna.create_study(storage=storage, study_name="one")
    storage.engine.dispose()


def test_a_file_that_another_process_creates_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "study.db"
    first = open_storage(sqlite_storage(path))
    optuna.create_study(storage=first, study_name="one")
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda self: self != path and exists(self))
    second = open_storage(sqlite_storage(path))
    assert optuna.get_all_study_names(second) == ["one"]
    for storage in (first, second):
        storage.engine.dispose()
    assert [entry.name for entry in tmp_path.iterdir()] == ["study.db"]
