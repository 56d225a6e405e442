"""Temporary files of dead writers are removed; those of living writers, and all other files, are kept."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import pytest

from regnas.runtime.files import write_text
from regnas.runtime.lock import exclusive
from regnas.runtime.temporary import OTHER_HOST_SECONDS, SUFFIX, remove_abandoned, temporary_name


def writer(name="run.json"):
    program = f"from regnas.runtime.temporary import temporary_name; print(temporary_name({name!r}))"
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)


def name_of_a_dead_writer(name="run.json"):
    return writer(name).communicate()[0].strip()


def test_the_next_owner_of_the_lock_removes_only_files_of_dead_processes(tmp_path):
    below = tmp_path / "supernet"
    below.mkdir()
    dead = below / name_of_a_dead_writer("step-18.safetensors")
    kept = [
        below / temporary_name("mine"),
        tmp_path / f"notes.{SUFFIX}",
        below / ".hidden",
        below / "step-18.safetensors",
    ]
    for path in (dead, *kept):
        path.write_text("x")
    with exclusive(tmp_path):
        assert not dead.exists()
        assert all(path.exists() for path in kept)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell the state of a process")
def test_a_writer_that_was_killed_is_dead_before_its_parent_notices(tmp_path):
    with writer() as process:
        (tmp_path / process.stdout.read().strip()).touch()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it keeps its number
        remove_abandoned(tmp_path)
        assert list(tmp_path.iterdir()) == []
        os.kill(process.pid, 0)


def test_a_number_that_was_given_to_a_new_process_does_not_protect_a_file(tmp_path):
    name = re.sub(r"-(\d+)-([0-9a-f]{8})\.", r"-1-\2.", temporary_name("a"))
    (tmp_path / name).touch()
    remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_files_of_another_host_stay_for_a_day(tmp_path):
    path = tmp_path / re.sub(r"\.[0-9a-f]{8}-", ".00000000-", temporary_name("a"))
    path.touch()
    remove_abandoned(tmp_path)
    assert path.exists()
    before = time.time() - OTHER_HOST_SECONDS - 60
    os.utime(path, (before, before))
    remove_abandoned(tmp_path)
    assert not path.exists()


def test_who_writes_the_same_file_again_removes_what_the_dead_left_of_it(tmp_path):
    mine, other = tmp_path / name_of_a_dead_writer("a.html"), tmp_path / name_of_a_dead_writer("b.html")
    mine.touch()
    other.touch()
    write_text(tmp_path / "a.html", "page")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "a.html", other])


def test_names_of_255_bytes_can_be_written(tmp_path):
    write_text(tmp_path / ("ü" * 127), "x")
    assert (tmp_path / ("ü" * 127)).read_text() == "x"
