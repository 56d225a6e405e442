"""``guided``: coverage-guided fuzzing of the parsers with atheris.

atheris is not part of any extra, because it has wheels for Linux only: ``pip install atheris``. A try fuzzes one parser
in a process of its own for two minutes. Inputs that reach new code are kept in ``regnas/fuzzing`` in the cache folder,
so that later tries continue with them.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.reliability.artifacts import Artifacts, make_artifacts
from benchmarks.reliability.campaign import Attempt, Campaign, Outcome
from regnas.runtime.files import cache_folder

PARSERS = (
    "predictions.csv",
    "predictions.jsonl",
    "predictions.npz",
    "run configuration",
    "manifest",
    "run.json",
    "latency table",
    "weights",
)
SECONDS = 120
SECONDS_MORE = 120  # to start and to end
EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
LATEST = re.compile(r"^#(\d+)\t", re.MULTILINE)


@contextmanager
def begin(
    folder: Path,
    make: Callable[[Path], Artifacts] = make_artifacts,
    parsers: tuple[str, ...] = PARSERS,
    seconds: int = SECONDS,
    corpora: Path | None = None,
) -> Iterator[Attempt]:
    """Make one of every kind of file, as the first inputs.

    Args:
        folder: for all files.
        make: makes the files.
        parsers: the kinds of files, which take turns.
        seconds: per try.
        corpora: where interesting inputs are kept; by default in the cache folder.
    """
    if importlib.util.find_spec("atheris") is None:
        raise SystemExit("guided needs atheris, which is not installed. Install it with: pip install atheris")
    base = folder / "artifacts"
    base.mkdir()
    make(base)
    kept = corpora or cache_folder() / "fuzzing"

    def attempt(number: int, random: np.random.Generator) -> Outcome:
        parser = parsers[number % len(parsers)]
        corpus, work = kept / parser.replace(" ", "_"), folder / f"try-{number}"
        corpus.mkdir(parents=True, exist_ok=True)
        work.mkdir()
        return _fuzz(parser, base, work, corpus, seconds, int(random.integers(1, 2**31)))

    yield attempt


def _fuzz(parser: str, base: Path, work: Path, corpus: Path, seconds: int, seed: int) -> Outcome:
    command = [sys.executable, "-m", "benchmarks.reliability.guided_parser", parser, str(base), str(work), str(corpus)]
    command += [f"-max_total_time={seconds}", f"-seed={seed}", f"-artifact_prefix={work}/finding-"]
    # A new program has the peak memory of what forked it, which libFuzzer would take for its own: a shell is small.
    command = ["sh", "-c", '"$@"; exit $?', "sh", *command]
    began = time.monotonic()
    try:
        ended = subprocess.run(
            command,
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=seconds + SECONDS_MORE,
        )
    except subprocess.TimeoutExpired:
        return Outcome(parser, f"did not end {time.monotonic() - began:.0f} s after it was started")
    counts = EXECUTED.findall(ended.stderr) or LATEST.findall(ended.stderr)
    problem = ""
    if ended.returncode != 0:
        inputs = [path.read_bytes()[:2000] for path in sorted(work.glob("finding-*"))]
        text = ended.stdout[-3000:] + ended.stderr[-1500:]
        problem = f"ended with {ended.returncode} for the input {inputs}: {text}"
    return Outcome(parser, problem, int(counts[-1]) if counts else 1)


CAMPAIGN = Campaign(
    name="guided",
    goal=50_000,  # at least half an hour of eight parsers, also on a busy machine
    begin=begin,
    describe=(
        "inputs that atheris derives from the code that they reach, for the parsers of CSV, JSON lines, npz, TOML, "
        "manifests, run.json, latency tables and safetensors; an attack is one input; fails if a parser raises "
        "anything but a RegnasError, takes 20 s or 2 GB"
    ),
)
