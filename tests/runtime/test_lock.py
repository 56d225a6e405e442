"""Who holds the lock of a folder."""

from __future__ import annotations

import fcntl
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from regnas.errors import ConfigurationError
from regnas.runtime.lock import LOCK, exclusive


@contextmanager
def held(folder):
    """Hold the lock as a process does that has not written its name yet."""
    with (folder / LOCK).open("a+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle


def write(handle, name):
    handle.truncate(0)
    handle.write(name)
    handle.flush()


@pytest.mark.parametrize("earlier", [False, True])
def test_a_refusal_waits_for_the_name_of_a_holder_that_has_just_started(tmp_path, earlier):
    if earlier:  # a holder that was killed
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        (tmp_path / LOCK).write_text(f"process {ended.pid} on {socket.gethostname()}")
    with held(tmp_path) as handle:
        threading.Timer(0.2, write, (handle, "process 7 on elsewhere")).start()
        with pytest.raises(ConfigurationError, match="is in use by process 7 on elsewhere"), exclusive(tmp_path):
            pass


def test_a_holder_without_a_name_is_another_process(tmp_path):
    with (
        held(tmp_path),
        pytest.raises(ConfigurationError, match="is in use by another process"),
        exclusive(tmp_path),
    ):
        pass
