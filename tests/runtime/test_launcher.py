"""Processes that torchrun started end with it, and do not take one another down; a program stands in for torchrun."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from regnas.runtime.other_processes import is_running

LAUNCHER = """
import subprocess, sys, time
process = subprocess.Popen([sys.executable, "-c", sys.argv[1]], start_new_session=True, stdout=subprocess.PIPE)
print(process.pid, process.stdout.readline().decode(), flush=True)
time.sleep(600)
"""
RANK = """
import time
from regnas.runtime.launcher import end_with_launcher
end_with_launcher()
print("watches", flush=True)
time.sleep(600)
"""
BUSY = RANK.replace("time.sleep(600)", "sum(range(10**12))")  # holds the interpreter, as some imports do for seconds


@pytest.mark.parametrize(
    "rank",
    [RANK, pytest.param(BUSY, marks=pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot"))],
    ids=["waiting", "busy"],
)
def test_a_process_ends_with_the_torchrun_that_started_it(rank):
    environment = {**os.environ, "TORCHELASTIC_RUN_ID": "any"}
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, rank], env=environment, stdout=subprocess.PIPE, text=True
    )
    process, said = launcher.stdout.readline().split()
    assert said == "watches"
    launcher.kill()
    launcher.communicate()
    deadline = time.monotonic() + 60
    while is_running(int(process)):
        assert time.monotonic() < deadline, "the process outlived its launcher"
        time.sleep(0.05)


ENDING = """
import sys, threading, time
from regnas.runtime.launcher import end_rank
# What Python waits for when it is torn down, as a thread of torch that aborts would show.
threading.Thread(target=time.sleep, args=(600,)).start()
print("done")
end_rank(5)
print("goes on", flush=True)
import os; os._exit(0)
"""


@pytest.mark.parametrize(
    ("variables", "code", "said"),
    [
        ({"TORCHELASTIC_RUN_ID": "any", "RANK": "1"}, 5, "done\n"),
        ({"TORCHELASTIC_RUN_ID": "any", "RANK": "0"}, 0, "done\ngoes on\n"),
        ({"RANK": "1"}, 0, "done\ngoes on\n"),
    ],
    ids=["second rank", "first rank", "without torchrun"],
)
def test_only_later_ranks_end_without_tearing_down_the_interpreter(variables, code, said):
    environment = {key: value for key, value in os.environ.items() if key != "TORCHELASTIC_RUN_ID"} | variables
    ended = subprocess.run([sys.executable, "-c", ENDING], env=environment, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (code, said)
