"""``fuzzing``: damaged and random files of every kind, through the code that the command line goes through.

A try damages one kind of file many times, in a child process of a server that has everything imported. The kinds take
turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.reliability.artifacts import Artifacts, make_artifacts
from benchmarks.reliability.campaign import Attempt, Campaign, Outcome
from benchmarks.reliability.fuzz_server import MEMORY, SECONDS

SHOWN = 5  # problems of one try


@contextmanager
def begin(
    folder: Path,
    make: Callable[[Path], Artifacts] = make_artifacts,
    cases: int | None = None,
    only: tuple[str, ...] = (),
) -> Iterator[Attempt]:
    """Make one of every kind of file, and a server that tries damaged ones.

    Args:
        folder: for all files.
        make: makes the files that are damaged.
        cases: per try; by default, fewer for kinds that take longer to read.
        only: the kinds; by default all.
    """
    base, work = folder / "artifacts", folder / "work"
    base.mkdir()
    work.mkdir()
    make(base)
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.reliability.fuzz_server", str(base), str(work)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        known: dict[str, int] = json.loads(process.stdout.readline())
        kinds = [name for name in known if not only or name in only]

        def attempt(number: int, random: np.random.Generator) -> Outcome:
            kind = kinds[number % len(kinds)]
            count = cases or known[kind]
            request = {"target": kind, "seed": int(random.integers(2**62)), "cases": count}
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            problems = json.loads(process.stdout.readline())["problems"]
            shown = "; ".join(f"case {case}: {text}" for case, text in list(problems.items())[:SHOWN])
            more = f"{len(problems)} of {count} cases: " if problems else ""
            return Outcome(kind, more + shown, count)

        yield attempt
    finally:
        process.communicate()  # closes its input, at which it ends


CAMPAIGN = Campaign(
    name="fuzzing",
    goal=300_000,
    begin=begin,
    describe=(
        "configurations, predictions, manifests, weights, files of run folders, databases, ONNX files, images, keys "
        "and checkpoints with damaged bytes, strange values, or made of the fragments of a grammar; fails if "
        "reading them ends with anything but a RegnasError or success, a signal, more than "
        f"{MEMORY // 2**30} GB, more than "
        f"{SECONDS:.0f} s of processor time, or a message of more than 20,000 characters"
    ),
)
