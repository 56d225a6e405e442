"""A process that forks children, each of which tries many damaged files, and finds out which case a child died of.

``python -m benchmarks.reliability.fuzz_server ARTIFACTS FOLDER`` reads requests and writes answers, one JSON object per
line. A child may use 2 GB more than the server, and 20 s of processor time per case: other processes of the machine do
not count. If it does not end, it hangs.
"""

from __future__ import annotations

import gc
import io
import json
import logging
import os
import resource
import select
import signal
import struct
import sys
import time
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reliability.artifacts import Artifacts
from benchmarks.reliability.inputs import targets
from benchmarks.reliability.inputs.target import Target
from regnas.cli import exit_code
from regnas.errors import RegnasError
from regnas.runtime.environment import environment_problems

SECONDS = 20.0  # of processor time
HANGS = 300.0  # seconds by the clock
MEMORY = 2 * 2**30
LONGEST_OUTPUT = 20_000  # characters of a message
COMMAND_EVERY = 60  # cases of which one goes through a command; a command takes 0.1 s
ENDS = (0, 2, 3, 4, 5, 6)


def serve(made: Artifacts, folder: Path) -> None:
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.getLogger("regnas").setLevel(logging.CRITICAL)
    answers = os.fdopen(os.dup(1), "w")
    known = {target.name: target for target in targets(made, folder)}
    for target in known.values():
        warm_up(target)
    answers.write(json.dumps({name: target.cases for name, target in known.items()}) + "\n")
    answers.flush()
    gc.freeze()
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps(attack(known[request["target"]], request["seed"], request["cases"])) + "\n")
        answers.flush()


def warm_up(target: Target) -> None:
    """Let the undamaged file be read, so that children need not import and cache; it must be accepted."""
    target.path.write_bytes(target.good)
    target.before()
    target.read()
    if target.command and (problem := _problem_of_command(target)):
        raise SystemExit(f"{target.name}: {problem}")


def attack(target: Target, seed: int, cases: int) -> dict[str, Any]:
    """Try the cases; return the problems by the number of the case."""
    problems: dict[int, str] = {}
    done = 0
    while done < cases:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _try_cases(target, seed, range(done, cases), writing)
        os.close(writing)
        current, ended = _watch(child, reading, done, problems)
        os.close(reading)
        if not ended:
            os.kill(child, signal.SIGKILL)
            problems[current] = f"took more than {SECONDS:.0f} s of processor time, or {HANGS:.0f} s"
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if ended and code == 0:
            break
        if ended:
            problems[current] = f"the process ended with {code}"
        done = current + 1
    return {"problems": problems}


def _watch(child: int, reading: int, first: int, problems: dict[int, str]) -> tuple[int, bool]:
    """Read what a child reports; return the case that it worked on, and whether it ended."""
    current, held = first, b""
    used, began = _processor_seconds(child), time.monotonic()
    while _processor_seconds(child) - used <= SECONDS and time.monotonic() - began <= HANGS:
        if not select.select([reading], [], [], 1.0)[0]:
            continue
        received = os.read(reading, 65536)
        if not received:
            return current, True
        used, began = _processor_seconds(child), time.monotonic()
        held += received
        while len(held) >= 8:
            number, length = struct.unpack("<II", held[:8])
            if len(held) < 8 + length:
                break
            current = number
            if length:
                problems[number] = held[8 : 8 + length].decode("utf-8", "replace")
            held = held[8 + length :]
    return current, False


def _processor_seconds(process: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _try_cases(target: Target, seed: int, cases: range, writing: int) -> None:
    os.setsid()
    core, held = resource.RLIMIT_CORE, resource.RLIMIT_AS
    resource.setrlimit(core, (0, 0))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(held, (limit, limit))
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    code = 70
    try:
        _try_each(target, seed, cases, writing)
        code = 0
    finally:
        os._exit(code)  # whatever happened: this is a copy of the server


def _try_each(target: Target, seed: int, cases: range, writing: int) -> None:
    for number in cases:
        os.write(writing, struct.pack("<II", number, 0))
        problem = _try(target, np.random.default_rng([seed, number]), number).encode("utf-8", "replace")[:3000]
        if problem:
            os.write(writing, struct.pack("<II", number, len(problem)) + problem)


def _try(target: Target, random: np.random.Generator, number: int) -> str:
    """Damage the file and let it be read; return what a user would complain about."""
    way = target.ways[int(random.integers(len(target.ways)))]
    try:
        target.path.write_bytes(way(random))
        target.before()
    except Exception:
        return f"the campaign itself failed: {traceback.format_exc(limit=-3)}"
    if target.command and (number + 1) % COMMAND_EVERY == 0:
        return _problem_of_command(target)
    try:
        with environment_problems():
            target.read()
    except RegnasError as error:
        said = "\n".join(error.problems)
        return f"says {len(said):,} characters: {said[:200]}" if len(said) > LONGEST_OUTPUT else ""
    except BaseException:
        return traceback.format_exc(limit=-6)[-2500:]
    return ""


def _problem_of_command(target: Target) -> str:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = exit_code(list(map(str, target.command)))
        except BaseException:
            return f"{target.command[0]}: {traceback.format_exc(limit=-6)[-2500:]}"
    said = err.getvalue()
    if code not in ENDS or "Traceback" in said:
        return f"{target.command[0]} ended with {code}: {said[-2000:]}"
    return f"{target.command[0]} says {len(said):,} characters" if len(said) > LONGEST_OUTPUT else ""


if __name__ == "__main__":
    serve(Artifacts(Path(sys.argv[1])), Path(sys.argv[2]))
