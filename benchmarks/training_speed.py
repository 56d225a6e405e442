"""Measure the effect of compiling, bfloat16 and a second process on a training step, by ratios of times.

The networks are those of the cifar10 preset: one inside each of its budgets, and its supernet. Images are random. A
step includes all work of the trainer: drawing, augmenting and preprocessing the batch, passes, clipping, optimizer.

    python -m benchmarks.training_speed arithmetic ofa processes supernet networks

Every finished part is kept in benchmarks/training_speed.json. Each process has one thread. `processes` starts two; the
first trains alone and together with the other in turns, and a step takes the same images. `arithmetic` compares the
multiply-adds per second of a step with those of a large matrix product, in turns on the same thread. `ofa` compares
with the step of the ofa package: its networks, its sub-networks of a step one after the other, in its memory format.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regnas.data import Preprocessing, Split
from regnas.losses import CrossEntropy
from regnas.runs.config import Config, load_config
from regnas.runtime.files import read_json, write_json
from regnas.runtime.machine import describe_machine
from regnas.runtime.processes import SINGLE, Processes, current_processes, joined
from regnas.space import BudgetSampler, EvenSampler, format_macs
from regnas.training import Curriculum, Objective, Recipe, SingleNetwork, Step, SupernetObjective, Trainer
from regnas.training.sub_networks import Given
from supernets.ofa_mobilenet_v3 import OFAMobileNetV3

SHAPE, CLASSES = (3, 32, 32), 10
WARM_UP = 4  # steps of each turn, compilation among them
PROCESSES = 2
PARTS = ("arithmetic", "ofa", "processes", "supernet", "networks")
MATRIX = 2048  # rows and columns of the product that stands for the arithmetic of the machine
OFA_SHAPE, OFA_BATCH = (3, 128, 128), 16
CPU = torch.device("cpu")
RESULTS = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class TimedNetwork(SingleNetwork):
    times: list[float] = field(default_factory=list)

    def __call__(self, model: nn.Module, step: Step) -> Tensor:
        self.times.append(time.perf_counter())
        return super().__call__(model, step)


@dataclass(frozen=True)
class TimedSupernet:
    objective: SupernetObjective
    times: list[float] = field(default_factory=list)

    def __call__(self, model: nn.Module, step: Step) -> Tensor:
        self.times.append(time.perf_counter())
        return self.objective(model, step)


@dataclass(frozen=True)
class Bench:
    config: Config
    batch: int
    steps: int  # of a turn
    turns: int

    def trainer(
        self, processes: Processes = SINGLE, shape: tuple[int, int, int] = SHAPE, batch: int = 0, **changes: Any
    ) -> Trainer:
        random = np.random.default_rng(0)
        batch = batch or self.batch
        count = (WARM_UP + self.steps + 1) * batch
        split = Split(
            "train",
            torch.from_numpy(random.integers(0, 256, (count, *shape), dtype=np.uint8)),
            torch.from_numpy(random.integers(0, CLASSES, count)),
            np.array([f"sample {index}" for index in range(count)]),
            np.arange(count),
        )
        recipe: Recipe = replace(self.config.training, epochs=1, batch_size=batch, precision="float32")
        return Trainer(replace(recipe, **changes), split, Preprocessing((0.5,) * 3, (0.25,) * 3), CPU, processes)

    def in_turns(self, variants: Mapping[str, Callable[[Path], Sequence[float]]]) -> dict[str, Any]:
        """Return the median milliseconds of a step, and how many steps a variant takes in the time of the first."""
        steps: dict[str, list[float]] = {name: [] for name in variants}
        for _ in range(self.turns):
            for name, train in variants.items():
                with tempfile.TemporaryDirectory() as folder:
                    times = train(Path(folder))
                steps[name] += np.diff(times)[WARM_UP:].tolist()
        medians = {name: statistics.median(found) for name, found in steps.items()}
        first = next(iter(medians.values()))
        return {name: {"step_ms": round(1e3 * median, 2), "speed": first / median} for name, median in medians.items()}

    def networks(self) -> dict[str, Any]:
        space = self.config.supernet.space(SHAPE, CLASSES)
        results = {}
        for name, budget in self.config.budgets.items():
            architecture = BudgetSampler(space, budget).sample(Random(0))
            network = self.config.supernet.network(architecture, SHAPE, CLASSES)

            def train(folder: Path, network: nn.Module = network, **changes: Any) -> list[float]:
                objective = TimedNetwork()
                self.trainer(**changes).train(network, objective, (0,), folder, "")
                return objective.times

            results[f"{name}, {format_macs(space.cost(architecture).macs)}"] = self.in_turns(
                {
                    "float32": train,
                    "float32, compiled": lambda folder, train=train: train(folder, compile=True),
                    "bfloat16": lambda folder, train=train: train(folder, precision="bfloat16"),
                    "bfloat16, compiled": lambda folder, train=train: train(folder, precision="bfloat16", compile=True),
                }
            )
        return results

    def supernet_steps(self, folder: Path, processes: Processes = SINGLE, **changes: Any) -> list[float]:
        torch.manual_seed(0)
        objective = SupernetObjective(
            self.config.supernet.space(SHAPE, CLASSES), self.config.curriculum, CrossEntropy(), (0,)
        )
        timed = TimedSupernet(objective)
        trained: Objective = timed
        supernet = self.config.supernet.supernet(SHAPE, CLASSES)
        self.trainer(processes, **changes).train(supernet, trained, (0,), folder, "")
        return timed.times

    def supernet(self) -> dict[str, Any]:
        return self.in_turns(
            {
                "float32": self.supernet_steps,
                "bfloat16": lambda folder: self.supernet_steps(folder, precision="bfloat16"),
            }
        )

    def arithmetic(self) -> dict[str, Any]:
        """Return the multiply-adds per second of a step and of a matrix product, and their ratio."""
        space = self.config.supernet.space(SHAPE, CLASSES)
        objective = SupernetObjective(space, self.config.curriculum, CrossEntropy(), (0,))
        steps = range(WARM_UP, WARM_UP + self.steps)
        macs = self.batch * statistics.mean(objective.macs_of(index, 0.0) for index in steps)
        left, right = torch.randn(MATRIX, MATRIX), torch.randn(MATRIX, MATRIX)

        def product(folder: Path) -> list[float]:
            times = [time.perf_counter()]
            for _ in range(WARM_UP + self.steps):
                torch.mm(left, right)
                times.append(time.perf_counter())
            return times

        found = self.in_turns({"step": self.supernet_steps, "product": product})
        speeds = {
            "step": macs / found["step"]["step_ms"] / 1e6,
            "product": MATRIX**3 / found["product"]["step_ms"] / 1e6,
        }
        return {
            "macs_of_a_step": round(macs),
            "giga_macs_per_second": {name: round(speed, 2) for name, speed in speeds.items()},
            "share": speeds["step"] / speeds["product"],
        }

    def ofa(self) -> dict[str, Any]:
        """Return the step of the trainer and that of the ofa package on the same sub-networks and images."""
        supernet = OFAMobileNetV3()
        space = supernet.space(OFA_SHAPE, CLASSES)
        chosen = [space.largest, *(EvenSampler(space).sample(Random(seed)) for seed in (0, 1)), space.smallest]
        given = Curriculum(sub_networks=Given(tuple(chosen)), lessons={})
        images = torch.randn(OFA_BATCH, *OFA_SHAPE)
        targets = torch.arange(OFA_BATCH) % CLASSES

        def regnas(folder: Path) -> list[float]:
            torch.manual_seed(0)
            timed = TimedSupernet(SupernetObjective(space, given, CrossEntropy(), (0,)))
            trainer = self.trainer(shape=OFA_SHAPE, batch=OFA_BATCH)
            trainer.train(supernet.supernet(OFA_SHAPE, CLASSES), timed, (0,), folder, "")
            return timed.times

        def package(folder: Path) -> list[float]:
            torch.manual_seed(0)
            elastic = supernet.supernet(OFA_SHAPE, CLASSES)
            network, settings = elastic.network.train(), [elastic._settings(each) for each in chosen]
            optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, nesterov=True)
            times = []
            for _ in range(WARM_UP + self.steps + 1):
                times.append(time.perf_counter())
                optimizer.zero_grad()
                for kernels, expansions, depths in settings:
                    network.set_active_subnet(ks=kernels, e=expansions, d=depths)
                    nn.functional.cross_entropy(network(images), targets).backward()
                optimizer.step()
            return times

        return self.in_turns({"ofa": package, "regnas": regnas})

    def processes(self, processes: Processes) -> dict[str, Any]:
        def alone(folder: Path) -> list[float]:
            if not processes.is_main:  # waits, and its times are not those that are kept
                processes.sum_(torch.zeros(1))
                return np.arange(WARM_UP + self.steps + 1).tolist()
            times = self.supernet_steps(folder)
            processes.sum_(torch.zeros(1))
            return times

        return self.in_turns(
            {
                "1 process": alone,
                f"{PROCESSES} processes": lambda folder: self.supernet_steps(folder, processes),
            }
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--out", type=Path, default=RESULTS)
    wishes = parser.parse_args()
    torch.set_num_threads(1)
    bench = Bench(load_config("cifar10").values, wishes.batch, wishes.steps, wishes.turns)
    processes = current_processes()
    if not processes.is_single:
        with joined(processes):
            results = bench.processes(processes)
        if processes.is_main:
            print(json.dumps(results))
        return
    report = read_json(wishes.out) if wishes.out.exists() else {}
    report |= {"batch": wishes.batch, "machine": describe_machine(CPU)}
    for part in wishes.parts:
        report[part] = getattr(bench, part)() if part != "processes" else in_two_processes()
        write_json(wishes.out, report)
        print(json.dumps({part: report[part]}, indent=2))


def in_two_processes() -> Any:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(PROCESSES)]
    return json.loads(subprocess.run([*launcher, *sys.argv], stdout=subprocess.PIPE, text=True, check=True).stdout)


if __name__ == "__main__":
    main()
