"""If torchrun is killed, its processes end too; another program stands in for torchrun here."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

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


def test_a_process_ends_with_the_torchrun_that_started_it():
    environment = {**os.environ, "TORCHELASTIC_RUN_ID": "any"}
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, RANK], env=environment, stdout=subprocess.PIPE, text=True
    )
    process, said = launcher.stdout.readline().split()
    assert said == "watches"
    launcher.kill()
    launcher.communicate()
    deadline = time.monotonic() + 60
    while runs(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not runs(process)


def runs(process):
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
