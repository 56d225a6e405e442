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
fuzz_server.SECONDS = float(sys.argv[2])
fuzz_server.HANGS = float(sys.argv[3])
seen = iter(range(100))

def read():
    number = int(path.read_text())
    if number == 1: raise ArtifactError("refused")
    if number == 2: raise KeyError("bug")
    if number == 3: os.kill(os.getpid(), signal.SIGSEGV)
    if number == 4: time.sleep(10 if fuzz_server.HANGS < 5 else 0)
    if number == 7: sum(range(10**12))
    if number == 5: bytearray(3 * 2**30)
    if number == 6: raise ArtifactError(*["x" * 999] * 30)

class Damage:
    def __call__(self, random): return str(random.bit_generator.seed_seq.entropy[1]).encode()

target = Target("x", path, b"0", (Damage(),), read)
print(json.dumps(fuzz_server.attack(target, 0, int(sys.argv[4]))["problems"]))
"""


def problems_of(path, *, seconds, hangs, cases):
    arguments = [str(path), *map(str, (seconds, hangs, cases))]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True, env=os.environ
    )
    return json.loads(done.stdout)


@pytest.mark.slow
def test_every_way_to_fail_is_found_with_its_case(tmp_path):
    problems = problems_of(tmp_path / "file", seconds=100, hangs=2, cases=7)
    assert list(problems) == ["2", "3", "4", "5", "6"]
    assert "KeyError: 'bug'" in problems["2"]
    assert problems["3"] == "the process ended with -11"
    assert problems["4"] == "took more than 100 s of processor time, or 2 s"
    assert "MemoryError" in problems["5"]
    assert problems["6"].startswith("says 29,999 characters")


@pytest.mark.slow
def test_a_case_that_computes_for_too_long_is_found_by_its_processor_time(tmp_path):
    problems = problems_of(tmp_path / "file", seconds=1, hangs=200, cases=8)
    assert problems["7"] == "took more than 1 s of processor time, or 200 s"
