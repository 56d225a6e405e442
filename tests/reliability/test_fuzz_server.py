"""The server of the campaign ``fuzzing`` finds out which damaged file a child died of."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json, os, signal, sys, time
from pathlib import Path
from benchmarks.reliability import fuzz_server
from benchmarks.reliability.inputs.target import Target
from regnas.errors import ArtifactError

path = Path(sys.argv[1])
fuzz_server.SECONDS = 1.0
seen = iter(range(100))

def read():
    number = int(path.read_text())
    if number == 1: raise ArtifactError("refused")
    if number == 2: raise KeyError("bug")
    if number == 3: os.kill(os.getpid(), signal.SIGSEGV)
    if number == 4: time.sleep(30)
    if number == 5: bytearray(3 * 2**30)
    if number == 6: raise ArtifactError(*["x" * 999] * 30)

class Damage:
    def __call__(self, random): return str(random.bit_generator.seed_seq.entropy[1]).encode()

target = Target("x", path, b"0", (Damage(),), read)
print(json.dumps(fuzz_server.attack(target, 0, 8)["problems"]))
"""


@pytest.mark.slow
def test_every_way_to_fail_is_found_with_its_case(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "file"], capture_output=True, text=True, check=True, env=os.environ
    )
    problems = json.loads(done.stdout)
    assert list(problems) == ["2", "3", "4", "5", "6"]
    assert "KeyError: 'bug'" in problems["2"]
    assert problems["3"] == "the process ended with -11"
    assert problems["4"] == "took more than 1 s"
    assert "MemoryError" in problems["5"]
    assert problems["6"].startswith("says 29,999 characters")
