"""Failures of the machine are recognized inside the exceptions of libraries."""

from __future__ import annotations

import errno
import os
import sqlite3

import pytest

from regnas.errors import ArtifactError, EnvironmentProblem
from regnas.runtime.environment import environment_problems

NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.EMFILE, errno.ENAMETOOLONG)


def wrapped(error):
    try:
        try:
            raise error
        except Exception as inner:
            raise RuntimeError("writing failed") from inner
    except RuntimeError as outer:
        return outer


@pytest.mark.parametrize(
    "error",
    [
        *(OSError(number, os.strerror(number), "weights.bin") for number in NUMBERS),
        wrapped(OSError(errno.ENOSPC, "No space left on device")),
        RuntimeError("[enforce fail at inline_container.cc:672] . PytorchStreamWriter failed writing file data/0"),
        RuntimeError("basic_ios::clear: No space left on device"),
        ValueError("I/O error: Disk quota exceeded (os error 122)"),
    ],
)
def test_failures_of_the_machine_are_problems_of_the_environment(error):
    with pytest.raises(EnvironmentProblem) as caught, environment_problems():
        raise error
    assert len(caught.value.problems) == 1
    assert caught.value.exit_code == 5


def test_a_full_disk_in_sqlite_is_not_a_damaged_file(tmp_path):
    connection = sqlite3.connect(tmp_path / "study.db")
    connection.execute("create table t (x)")
    pages = connection.execute("pragma page_count").fetchone()[0]
    connection.execute(f"pragma max_page_count = {pages}")
    with pytest.raises(EnvironmentProblem, match="disk is full"), environment_problems():
        try:
            connection.execute("insert into t values (zeroblob(100000))")
        except sqlite3.Error as error:
            raise ArtifactError("study.db cannot be written") from error
    connection.close()


@pytest.mark.parametrize("error", [ValueError("bad"), FileNotFoundError(errno.ENOENT, "missing"), KeyError("x")])
def test_other_errors_stay_what_they_are(error):
    with pytest.raises(type(error)), environment_problems():
        raise error


def test_a_file_that_may_not_be_read_stays_bad_data():
    with pytest.raises(ArtifactError), environment_problems():
        try:
            raise PermissionError(errno.EACCES, "Permission denied")
        except OSError as error:
            raise ArtifactError("old.csv cannot be read") from error
