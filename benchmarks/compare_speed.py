"""Measure the time and memory of `regnas compare` for ten models on a million samples, and how they grow.

Writes prediction files of random models, each in another order of samples, with 100 classes and a slice column in the
first one. Then it runs the command on them in a separate process, for each format, for integer and text ids, and for
several numbers of samples. The fastest repeat counts, because other processes may use the machine too. All repeats are
kept, with the load of the machine, of which this command is about 1. The exit code is 6 if a bar is missed: 10 seconds
and 2 GB for the largest number of samples, 1.5 seconds to start.

    pip install 'regnas[parquet]' scipy
    python benchmarks/compare_speed.py --models 10 --samples 250000 500000 1000000
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

BAR_SECONDS = 10.0
BAR_PEAK_BYTES = 2 * 10**9
BAR_START_SECONDS = 1.5

CLASSES = 100
FORMATS = ("npz", "csv", "parquet")


def columns_of(model: int, samples: int, text_ids: bool, seed: int) -> dict[str, NDArray[Any]]:
    """Return the columns of a random model; easy samples are easy for all models, so flips are rare, as in reality."""
    common, own = np.random.default_rng(seed), np.random.default_rng([seed, model])
    targets, ease = common.integers(0, CLASSES, samples), common.random(samples)
    countries = np.array(["de", "fr", "in", "us"])[common.integers(0, 4, samples)]
    right = own.random(samples) < ease ** own.uniform(0.05, 0.2)
    predicted = np.where(right, targets, (targets + own.integers(1, CLASSES, samples)) % CLASSES)
    ids = np.arange(samples)
    columns = {
        "id": np.char.add("image-", ids.astype(np.str_)) if text_ids else ids,
        "target": targets,
        "predicted": predicted,
    }
    if model == 0:
        columns["country"] = countries
    order = own.permutation(samples)
    return {name: values[order] for name, values in columns.items()}


def write(folder: Path, kind: str, models: int, samples: int, text_ids: bool, seed: int) -> list[Path]:
    paths = []
    for model in range(models):
        columns = columns_of(model, samples, text_ids, seed)
        path = folder / f"model-{model}.{kind}"
        if kind == "npz":
            np.savez(path, **columns)  # type: ignore[arg-type]
        else:
            table = pa.table(columns)
            csv.write_csv(table, path) if kind == "csv" else parquet.write_table(table, path)
        paths.append(path)
    return paths


def write_files(*arguments: Any) -> list[Path]:
    """Write the files in a separate process, because the memory of this one would count for the processes it starts."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        return executor.submit(write, *arguments).result()


def measure(command: list[str]) -> tuple[float, float, int]:
    """Run a command; return its wall time and processor time in seconds, and its peak memory in bytes."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there and in KiB elsewhere
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit


def compare(paths: list[Path]) -> list[str]:
    return [sys.executable, "-m", "regnas", "compare", *map(str, paths), "--json"]


def imported_in(module: str) -> float:
    """Return the seconds that a module takes to import after numpy."""
    code = f"import numpy, time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
    times = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return median(float(each.stdout) for each in times)


def start_times(folder: Path) -> dict[str, float]:
    few = write(folder, "npz", 2, 100, True, 0)
    table = write(folder, "csv", 2, 100, True, 0)
    gate = [sys.executable, "-m", "regnas", "gate", *map(str, few), "--max-nfr", "1"]
    commands = {"compare_npz": compare(few), "compare_csv": compare(table), "gate_npz": gate}
    return {name: median(measure(command)[0] for _ in range(5)) for name, command in commands.items()}


def processor() -> str:
    source = Path("/proc/cpuinfo")
    lines = source.read_text().splitlines() if source.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def main() -> int:
    parser = argparse.ArgumentParser(description="time and memory of regnas compare")
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--samples", type=int, nargs="+", default=[250_000, 500_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        start = start_times(Path(name))
    runs = []
    for kind in FORMATS:
        for text_ids in (False, True):
            for samples in options.samples:
                with tempfile.TemporaryDirectory() as name:
                    paths = write_files(Path(name), kind, options.models, samples, text_ids, options.seed)
                    repeats = [measure(compare(paths)) for _ in range(options.repeats)]
                run = {
                    "format": kind,
                    "ids": "text" if text_ids else "integers",
                    "samples": samples,
                    "seconds": min(each[0] for each in repeats),
                    "processor_seconds": min(each[1] for each in repeats),
                    "peak_bytes": max(each[2] for each in repeats),
                    "seconds_of_each_repeat": [each[0] for each in repeats],
                    "load_average": os.getloadavg()[0],
                }
                runs.append(run)
                print({key: value for key, value in run.items() if key != "seconds_of_each_repeat"}, flush=True)

    largest = [run for run in runs if run["samples"] == max(options.samples)]
    result = {
        "command": f"python benchmarks/compare_speed.py --models {options.models} --samples "
        f"{' '.join(map(str, options.samples))} --repeats {options.repeats} --seed {options.seed}",
        "seed": options.seed,
        "machine": {
            "cores": os.cpu_count(),
            "processor": processor(),
            "system": platform.system(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "pyarrow": pa.__version__,
        },
        "models": options.models,
        "classes": CLASSES,
        "bars": {"seconds": BAR_SECONDS, "peak_bytes": BAR_PEAK_BYTES, "start_seconds": BAR_START_SECONDS},
        "start_seconds": start,
        "import_seconds": {
            name: imported_in(name) for name in ("narwhals", "scipy.special", "scipy.stats", "pyarrow.parquet")
        },
        "runs": runs,
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(result, indent=2) + "\n")
    met = (
        max(run["seconds"] for run in largest) <= BAR_SECONDS
        and max(run["peak_bytes"] for run in largest) <= BAR_PEAK_BYTES
        and max(start.values()) <= BAR_START_SECONDS
    )
    return 0 if met else 6


if __name__ == "__main__":
    sys.exit(main())
