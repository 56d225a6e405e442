"""Time and memory of large inputs, and how both grow: ``python -m benchmarks.reliability.load``.

Each row is one command in a process of its own; sizes double. ``growth`` is the time per unit of work relative to the
row before: 1 is linear, and the time to start makes it less. A unit is a pair for models, and one of what grows
otherwise. Seconds are those of the processor. ``--only compare`` measures some rows, and the file keeps the others.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from regnas.runtime.files import write_json

OUT = Path(__file__).with_suffix(".json")
SIDE = 32  # pixels of the images


@dataclass(frozen=True)
class Load:
    """A command on inputs that grow.

    Args:
        command: its name.
        grows: what grows, in a word.
        others: the other sizes, for the table.
        sizes: how many, each about double the one before.
        write: writes the inputs of a size into a folder, and returns the arguments of the command.
        units: the units of work of a size.
    """

    command: str
    grows: str
    others: str
    sizes: tuple[int, ...]
    write: Callable[[Path, int], list[str]]
    units: Callable[[int], int] = lambda size: size


def compare_models(folder: Path, models: int) -> list[str]:
    return ["compare", *_write_models(folder, models, 50_000, 1_000), "--json"]


def compare_classes(folder: Path, classes: int) -> list[str]:
    return ["compare", *_write_models(folder, 10, 200_000, classes), "--json"]


def compare_samples(folder: Path, samples: int) -> list[str]:
    return ["compare", *_write_models(folder, 10, samples, 1_000), "--json"]


def gate_classes(folder: Path, classes: int) -> list[str]:
    limits = ["--max-nfr", "1", "--max-class-nfr", "1", "--min-accuracy-gain", "-1"]
    return ["gate", *_write_models(folder, 2, 200_000, classes), *limits]


def gallery_flips(folder: Path, flips: int) -> list[str]:
    """Let the new model fail on every image."""
    ids = _write_images(folder / "photos", flips)
    targets = np.arange(flips) % 10
    paths = [str(folder / f"{name}.npz") for name in ("old", "new")]
    for path, predicted in zip(paths, (targets, (targets + 1) % 10), strict=True):
        np.savez(path, id=np.array(ids), target=targets, predicted=predicted)
    return ["gallery", *paths, "--data", str(folder / "photos"), "--out", str(folder / "o.html"), "--most", str(flips)]


def predict_images(folder: Path, images: int) -> list[str]:
    """Let a linear classifier predict files."""
    from torch import nn

    from regnas.family.export.onnx_files import onnx_bytes
    from regnas.family.manifest.metadata import metadata_of

    _write_images(folder / "photos", images)
    shape, classes = (3, SIDE, SIDE), [f"class-{label}" for label in range(10)]
    network = nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, len(classes))).eval()
    metadata = metadata_of("linear", {"mean": [0.5] * 3, "std": [0.25] * 3}, classes, shape)
    (folder / "linear.onnx").write_bytes(onnx_bytes(network, shape, metadata))
    return ["predict", str(folder / "linear.onnx"), str(folder / "photos"), "--out", str(folder / "o.npz")]


LOADS = (
    Load("compare", "models", "50,000 samples, 1,000 classes", (25, 50, 100), compare_models, lambda k: k * (k - 1)),
    Load("compare", "classes", "10 models, 200,000 samples", (2_500, 5_000, 10_000), compare_classes),
    Load("compare", "samples", "10 models, 1,000 classes", (250_000, 500_000, 1_000_000), compare_samples),
    Load("gate", "classes", "200,000 samples", (2_500, 5_000, 10_000), gate_classes),
    Load("gallery", "flips", f"images of {SIDE} pixels", (5_000, 10_000, 20_000), gallery_flips),
    Load("predict", "image files", f"images of {SIDE} pixels", (25_000, 50_000, 100_000), predict_images),
)


def measure(load: Load) -> list[dict[str, Any]]:
    """Return one row per size."""
    rows: list[dict[str, Any]] = []
    per_unit = None
    for size in load.sizes:
        with tempfile.TemporaryDirectory(prefix="regnas-") as name:
            # In another process: what this one takes would count as the memory of those that it starts.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
                arguments = executor.submit(partial(load.write, Path(name)), size).result()
            seconds, peak = _run(arguments)
        before, per_unit = per_unit, seconds / load.units(size)
        rows.append(
            {
                "command": load.command,
                "size": f"{size:,} {load.grows}",
                "with": load.others,
                "seconds": round(seconds, 1),
                "peak MB": round(peak / 1e6),
                "growth": "" if before is None else round(per_unit / before, 2),
            }
        )
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def _run(arguments: Sequence[str]) -> tuple[float, int]:
    """Return the seconds of the processor and the peak of memory of a command."""
    process = subprocess.Popen([sys.executable, "-m", "regnas", *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: regnas {' '.join(arguments[:4])} ...")
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there and in KiB elsewhere
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit


def _write_models(folder: Path, models: int, samples: int, classes: int) -> list[str]:
    """Write models that are correct on about 80 % of the samples; easy samples are easy for all of them."""
    common = np.random.default_rng(0)
    targets, ease = common.integers(0, classes, samples), common.random(samples)
    paths = []
    for model in range(models):
        own = np.random.default_rng([0, model])
        correct = own.random(samples) < ease ** own.uniform(0.1, 0.4)
        predicted = np.where(correct, targets, (targets + own.integers(1, classes, samples)) % classes)
        paths.append(str(folder / f"model-{model:03d}.npz"))
        np.savez(paths[-1], id=np.arange(samples), target=targets, predicted=predicted)
    return paths


def _write_images(folder: Path, count: int) -> list[str]:
    """Write noise as PNG files into ten class folders, and return their ids."""
    random = np.random.default_rng(0)
    for label in range(10):
        (folder / f"class-{label}").mkdir(parents=True)
    ids = [f"class-{number % 10}/{number:06d}.png" for number in range(count)]
    for name in ids:
        pixels = random.integers(0, 256, (SIDE, SIDE, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / name, compress_level=1)
    return ids


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reliability.load", description=__doc__)
    parser.add_argument("--only", choices=sorted({load.command for load in LOADS}))
    only = parser.parse_args().only
    known = json.loads(OUT.read_text(encoding="utf-8"))["rows"] if OUT.exists() else []
    rows = []
    for load in LOADS:
        kept = [row for row in known if (row["command"], row["with"]) == (load.command, load.others)]
        rows += kept if only not in (None, load.command) else measure(load)
    write_json(OUT, {"rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
