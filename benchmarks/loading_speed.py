"""Compare the loading of photographs with torchvision, and measure how long a training step waits for images.

The photographs are made on the spot: JPEG files of 500 x 375 pixels, read at 224 with the evaluation transform of the
papers. The first batch is compared pixel by pixel.

    python benchmarks/loading_speed.py speed waiting memory

- `speed`: images per second of torchvision's ImageFolder with a DataLoader of one worker per core, and of regnas from
  files and from packs with as many threads. Epochs take turns, and the first one of each is not counted.
- `waiting`: the share of a step of MobileNetV2 that passes between asking for a batch and having it on the device.
- `memory`: the peak of a fresh process that loads an epoch, for the photographs and for four times as many.

Every finished part is kept in benchmarks/loading_speed.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from torchvision.models import mobilenet_v2

from regnas.data import ImageFolder, Loader, Splits
from regnas.data.loading import in_order
from regnas.runtime.files import read_json, write_json
from regnas.runtime.machine import describe_machine
from regnas.training import Recipe, SingleNetwork, Step, Trainer

SIZE, SHORTER = 224, 256
CLASSES = 10
WIDTH, HEIGHT = 500, 375
PACKS = {"files": "none", "jpeg pack": "jpeg", "pixel pack": "pixels"}
TORCHVISION = "torchvision DataLoader"
PARTS = ("speed", "waiting", "memory")
WARM_UP = 2  # steps
CPU = torch.device("cpu")
RESULTS = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class TimedTrainer(Trainer):
    """Notes the seconds from asking for a step until it is there, and those of the whole step."""

    waited: list[float] = field(default_factory=list)
    lasted: list[float] = field(default_factory=list)

    def _steps(self, *arguments: Any) -> Iterator[Step]:
        steps = super()._steps(*arguments)
        asked = time.perf_counter()
        for step in steps:
            arrived = time.perf_counter()
            yield step
            self.waited.append(arrived - asked)
            self.lasted.append(time.perf_counter() - asked)
            asked = time.perf_counter()


@dataclass(frozen=True)
class Bench:
    folder: Path
    images: int
    batch: int
    turns: int
    steps: int

    @property
    def photographs(self) -> Path:
        return self.folder / "photographs"

    def splits(self, pack: str) -> Splits:
        return ImageFolder(
            str(self.photographs),
            SIZE,
            transform="imagenet",
            keep="search",
            pack=pack,  # type: ignore[arg-type]
            search_images=CLASSES,
            cache=str(self.folder / "cache"),
        ).load()

    def torchvision_loader(self) -> DataLoader[Any]:
        steps = [transforms.Resize(SHORTER), transforms.CenterCrop(SIZE), transforms.PILToTensor()]
        photographs = datasets.ImageFolder(str(self.photographs / "train"), transforms.Compose(steps))
        workers = os.cpu_count() or 1
        return DataLoader(photographs, self.batch, num_workers=workers, persistent_workers=True)

    def speed(self) -> dict[str, Any]:
        """Return images per second, and the ratio to torchvision in the same turn."""
        theirs = self.torchvision_loader()
        epochs: dict[str, Callable[[], Iterator[Tensor]]] = {TORCHVISION: lambda: (batch for batch, _ in theirs)}
        for name, pack in PACKS.items():
            images = self.splits(pack).train.images
            epochs[name] = lambda images=images: Loader(images).batches(in_order(len(images), self.batch))
        self._check_pixels(theirs)
        rates: dict[str, list[float]] = {name: [] for name in epochs}
        for turn in range(1 + self.turns):
            for name, epoch in epochs.items():
                begun = time.perf_counter()
                count = sum(len(batch) for batch in epoch())
                if turn:
                    rates[name].append(count / (time.perf_counter() - begun))
        return {
            name: {
                "images_per_second": round(statistics.median(found), 1),
                "ratio": round(statistics.median(a / b for a, b in zip(found, rates[TORCHVISION], strict=True)), 3),
            }
            for name, found in rates.items()
        }

    def _check_pixels(self, theirs: DataLoader[Any]) -> None:
        names = [Path(path).relative_to(self.photographs).as_posix() for path, _ in theirs.dataset.samples]  # type: ignore[attr-defined]
        split = self.splits("none").train
        for index, name in enumerate(split.ids[: self.batch]):
            if not torch.equal(split.images[index], theirs.dataset[names.index(name)][0]):
                raise AssertionError(f"{name} has other pixels than with torchvision")

    def waiting(self) -> dict[str, Any]:
        results = {}
        for name, pack in PACKS.items():
            splits = self.splits(pack)
            torch.manual_seed(0)
            network: nn.Module = mobilenet_v2(num_classes=CLASSES)
            recipe = Recipe(epochs=1000, batch_size=self.batch, learning_rate=0.01, precision="float32")
            trainer = TimedTrainer(recipe, splits.train, splits.preprocessing, CPU)
            with tempfile.TemporaryDirectory() as folder:
                trainer.train(network, SingleNetwork(), (0,), Path(folder), "", until=WARM_UP + self.steps)
            waited, lasted = trainer.waited[WARM_UP:], trainer.lasted[WARM_UP:]
            results[name] = {
                "step_ms": round(1e3 * statistics.median(lasted), 1),
                "waited_ms": round(1e3 * statistics.median(waited), 1),
                "share": round(sum(waited) / sum(lasted), 4),
            }
        return results

    def memory(self) -> dict[str, Any]:
        """Return the peak of a process before the epoch and in it, in MB."""
        results: dict[str, Any] = {}
        for times in (1, 4):
            larger = Bench(self.folder / f"{times} times", times * self.images, self.batch, 0, 0)
            larger.make(self.photographs)
            for name, pack in PACKS.items():
                larger.splits(pack)  # so that making the pack is not measured
                command = [sys.executable, __file__, "memory", "--epoch-of", pack, "--folder", str(larger.folder)]
                command += ["--images", str(larger.images), "--batch", str(self.batch)]
                printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
                results[f"{name}, {larger.images} images"] = json.loads(printed)
        return results

    def make(self, originals: Path | None = None) -> None:
        """Make the photographs, or link to the same ones again and again."""
        random = np.random.default_rng(0)
        sources = sorted((originals or self.photographs).rglob("*.JPEG"))
        for part, count in (("train", self.images), ("val", CLASSES)):
            for index in range(count):
                path = self.photographs / part / f"class{index % CLASSES}" / f"{index}.JPEG"
                if path.exists():
                    continue
                path.parent.mkdir(parents=True, exist_ok=True)
                if originals:
                    path.hardlink_to(sources[index % len(sources)])
                else:
                    photograph(random).save(path, quality=90)


def photograph(random: np.random.Generator) -> Image.Image:
    """Return smooth colors with the noise of a camera: a JPEG of about 65 kB."""
    colors = Image.fromarray(random.integers(0, 256, (24, 32, 3), dtype=np.uint8))
    smooth = np.asarray(colors.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)).astype(np.int16)
    noise = random.integers(-12, 13, smooth.shape, dtype=np.int16)
    return Image.fromarray((smooth + noise).clip(0, 255).astype(np.uint8))


def peak_of_epoch(bench: Bench, pack: str) -> dict[str, float]:
    images = bench.splits(pack).train.images
    before = _peak()
    for batch in Loader(images).batches(in_order(len(images), bench.batch)):
        batch.sum()
    return {"before_mb": before, "peak_mb": _peak()}


def _peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--folder", type=Path, help="where the photographs and packs are kept; by default removed")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--epoch-of", choices=PACKS.values(), help=argparse.SUPPRESS)
    wishes = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = wishes.folder or Path(temporary)
        bench = Bench(folder, wishes.images, wishes.batch, wishes.turns, wishes.steps)
        if wishes.epoch_of:
            print(json.dumps(peak_of_epoch(bench, wishes.epoch_of)))
            return
        bench.make()
        report = read_json(wishes.out) if wishes.out.exists() else {}
        report |= {"images": wishes.images, "batch": wishes.batch, "machine": describe_machine(CPU)}
        for part in wishes.parts:
            report[part] = {"speed": bench.speed, "waiting": bench.waiting, "memory": bench.memory}[part]()
            write_json(wishes.out, report)
            print(json.dumps({part: report[part]}, indent=2))


if __name__ == "__main__":
    main()
