"""Measure the time and memory of a flip table of many models.

The input is random correctness of K models on N samples. The benchmark times
``regnas.flips.flip_table_from_correctness`` on it. In the same run it times the plain algorithm, one pair of models
after another, on the first few of the models. The time of the
plain algorithm grows with the number of ordered pairs, so it is scaled up to all K models. The exit code is 6 if the
bar is missed: 10 seconds and 1 GB for the whole process, input included.

    python benchmarks/flip_tables.py --models 1000 --samples 50000
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from regnas.flips import flip_table_from_correctness

BAR_SECONDS = 10.0
BAR_PEAK_BYTES = 10**9


def random_correctness(models: int, samples: int, seed: int) -> NDArray[np.bool_]:
    """Return random correctness [K, N]; easy samples are easy for all models, so flips are as rare as in reality."""
    random = np.random.default_rng(seed)
    ease = random.random(samples)  # [N]
    correctness = np.empty((models, samples), dtype=np.bool_)
    for row in correctness:  # one row at a time, as floats for the whole matrix would need more than the bar
        row[:] = random.random(samples) < ease ** random.uniform(0.2, 0.5)
    return correctness


def pairwise(correctness: NDArray[np.bool_]) -> NDArray[np.float64]:
    models, samples = correctness.shape
    nfr = np.zeros((models, models))
    for i in range(models):
        for j in range(models):
            if i != j:
                nfr[i, j] = np.count_nonzero(correctness[i] & ~correctness[j]) / samples
    return nfr


def peak_bytes() -> int:
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there and in KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def processor() -> str:
    source = Path("/proc/cpuinfo")
    lines = source.read_text().splitlines() if source.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def main() -> int:
    parser = argparse.ArgumentParser(description="time and memory of a flip table of many models")
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--pairwise-models", type=int, default=100, help="models timed the plain way, for comparison")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    correctness = random_correctness(options.models, options.samples, options.seed)
    names = [f"model-{index}" for index in range(options.models)]
    before = peak_bytes()
    seconds = []
    for _ in range(options.repeats):
        start = time.perf_counter()
        table = flip_table_from_correctness(names, correctness)
        seconds.append(time.perf_counter() - start)
    peak = peak_bytes()  # before the plain algorithm, whose memory does not count

    few = min(options.pairwise_models, options.models)
    start = time.perf_counter()
    expected = pairwise(correctness[:few])
    pairwise_seconds = time.perf_counter() - start
    if not np.array_equal(table.nfr[:few, :few], expected):
        raise SystemExit("the table differs from the rates found pair by pair")
    scale = options.models * (options.models - 1) / (few * (few - 1))

    result = {
        "command": f"python benchmarks/flip_tables.py --models {options.models} --samples {options.samples} "
        f"--pairwise-models {options.pairwise_models} --repeats {options.repeats} --seed {options.seed}",
        "seed": options.seed,
        "machine": {
            "cores": os.cpu_count(),
            "processor": processor(),
            "system": platform.system(),
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        "models": options.models,
        "samples": options.samples,
        "mean_accuracy": float(table.accuracy.mean()),
        "mean_nfr": table.mean_nfr(),
        "seconds": median(seconds),
        "seconds_of_each_repeat": seconds,
        "peak_bytes": peak,
        "peak_bytes_with_the_input_alone": before,
        "pairwise": {
            "models": few,
            "seconds": pairwise_seconds,
            "seconds_scaled_to_all_models": pairwise_seconds * scale,
            "times_slower": pairwise_seconds * scale / median(seconds),
        },
        "bar": {"seconds": BAR_SECONDS, "peak_bytes": BAR_PEAK_BYTES},
    }
    text = json.dumps(result, indent=2) + "\n"
    Path(__file__).with_suffix(".json").write_text(text)
    print(text, end="")
    return 0 if median(seconds) <= BAR_SECONDS and peak <= BAR_PEAK_BYTES else 6


if __name__ == "__main__":
    sys.exit(main())
