"""Measure the cost of a training step of an update beyond the forward and backward passes that it needs.

For each kind of step, the result is a ratio of medians. The first time is that of a step of the trainer (drawing,
augmenting and preprocessing the batch, teachers, losses, clipping, the optimizer). The second is that of the bare
passes on an existing batch (student forward and backward, teachers forward without gradients). They are run in turns,
step by step, in one process.

    python benchmarks/update_step.py > benchmarks/update_step.json
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regnas.augmentations.horizontal_flip import HorizontalFlip
from regnas.augmentations.shift import Shift
from regnas.data import Preprocessing, Split
from regnas.losses import BackwardCompatible, FocalDistillationLM, LogitDifferenceInhibition
from regnas.networks import SmallResNet
from regnas.runtime.machine import describe_machine
from regnas.training import (
    FeatureTerm,
    LogitTerm,
    Mixing,
    QuadraticPenalty,
    Recipe,
    SingleNetwork,
    Step,
    Trainer,
)

SHAPE, CLASSES, BATCH, STEPS, WARM_UP = (3, 32, 32), 10, 128, 40, 8
DEVICE = torch.device("cpu")


def network(patch: int = 2) -> nn.Module:
    built = SmallResNet(widths=(16, 32, 64), patch=patch).build(SHAPE, CLASSES)
    return built.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def objectives(old: nn.Module, members: list[nn.Module]) -> dict[str, tuple[SingleNetwork, list[nn.Module]]]:
    """Return the objective of each method and the teachers that it runs."""
    weights = {name: parameter.detach() for name, parameter in members[0].named_parameters()}
    return {
        "no treatment": (SingleNetwork(), []),
        "FD-LM": (SingleNetwork(terms=[LogitTerm(FocalDistillationLM(), 1.0, (old,))]), [old]),
        "ELODI, 4 members": (
            SingleNetwork(label_weight=0.2, terms=[LogitTerm(LogitDifferenceInhibition(), 0.8, tuple(members))]),
            members,
        ),
        "BCT": (
            SingleNetwork(feature_terms=[FeatureTerm(BackwardCompatible(), 1.0, old, CLASSES, CLASSES)]),
            [old],
        ),
        "EWC": (SingleNetwork(penalty=QuadraticPenalty(weights, 1.0, weights)), []),
        "Mixout": (SingleNetwork(mixing=Mixing(weights, 0.7, ("benchmark",))), []),
    }


def split() -> Split:
    random = np.random.default_rng(0)
    count = STEPS * BATCH
    return Split(
        "train",
        torch.from_numpy(random.integers(0, 256, (count, *SHAPE), dtype=np.uint8)),
        torch.from_numpy(random.integers(0, CLASSES, count)),
        np.array([f"sample {index}" for index in range(count)]),
        np.arange(count),
    )


class InTurns:
    """An objective that runs the bare passes between the steps of the trainer, so a slow moment affects both."""

    def __init__(self, objective: SingleNetwork, bare: Callable[[], None]) -> None:
        self.objective = objective
        self.bare = bare
        self.steps: list[float] = []
        self.passes: list[float] = []
        self._since = 0.0

    def __call__(self, model: nn.Module, step: Step) -> Tensor:
        started = time.perf_counter()
        if self._since:  # all that the trainer did since the last bare passes is one step
            self.steps.append(started - self._since)
        self.bare()
        self._since = time.perf_counter()
        self.passes.append(self._since - started)
        return self.objective(model, step)


def bare_passes(student: nn.Module, teachers: list[nn.Module], images: Tensor, targets: Tensor) -> None:
    with torch.no_grad():
        for teacher in teachers:
            teacher(images)
    F.cross_entropy(student(images), targets).backward()
    student.zero_grad()


def main() -> None:
    torch.set_num_threads(1)
    data, preprocessing = split(), Preprocessing((0.5,) * 3, (0.25,) * 3)
    recipe = Recipe(epochs=1, batch_size=BATCH, augmentations=(HorizontalFlip(), Shift(2)))
    trainer = Trainer(recipe, data, preprocessing, DEVICE)
    images = preprocessing(data.images[:BATCH]).contiguous(memory_format=torch.channels_last)
    targets = data.targets[:BATCH]
    old, members, twin = network(4).eval(), [network().eval() for _ in range(4)], network()
    results = {}
    for name, (objective, teachers) in objectives(old, members).items():
        turns = InTurns(objective, partial(bare_passes, twin, teachers, images, targets))
        with tempfile.TemporaryDirectory() as folder:
            trainer.train(network(), turns, (0,), Path(folder), "")
        step, passes = statistics.median(turns.steps[WARM_UP:]), statistics.median(turns.passes[WARM_UP:])
        results[name] = {"step_ms": round(1e3 * step, 2), "passes_ms": round(1e3 * passes, 2), "ratio": step / passes}
        print(f"{name:20} {1e3 * step:7.1f} ms, passes {1e3 * passes:7.1f} ms: {step / passes:.3f}", file=sys.stderr)
    report = {
        "command": "python benchmarks/update_step.py",
        "network": "small_resnet, widths 16 32 64, patch 2; old with patch 4",
        "batch": BATCH,
        "machine": describe_machine(DEVICE),
        "results": results,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
