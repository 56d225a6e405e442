"""One part of each kind, by public names of regnas."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import nn

from regnas.comparison.files.columns import Content
from regnas.data import Preprocessing, Splits
from regnas.data.splits import numbered_split
from regnas.family.export import Format
from regnas.losses import KnowledgeDistillation
from regnas.updates.methods.chain import lessons
from supernets.elastic_resnet import ElasticResNet


@dataclass(frozen=True)
class HalfDistillation:
    """Knowledge distillation with half of its value."""

    factor: float = 0.5

    def __call__(self, logits, targets, reference):
        return self.factor * KnowledgeDistillation()(logits, targets, reference)


@dataclass(frozen=True)
class HalfDistilled:
    """An update method with the loss of the package."""

    title: ClassVar[str] = "Half distilled"
    targeted: ClassVar[bool] = True
    fine_tunes: ClassVar[bool] = False

    def plan(self, chain):
        return chain.targeted(
            lambda stage, previous, references: stage.train(
                previous, lessons=lessons(HalfDistillation(), 1.0, references)
            )
        )


@dataclass(frozen=True)
class SquaredFlips:
    """Top-1 without the square of the flips."""

    def __call__(self, measures):
        return measures.top1 - measures.mean_nfr**2


@dataclass(frozen=True)
class LargestFirst:
    """Random search under another name."""

    generation_size: ClassVar[int] = 4

    def ask(self, space, budget, told, random):
        from regnas.search import RandomSearch

        return RandomSearch(generation=self.generation_size).ask(space, budget, told, random)


@dataclass(frozen=True)
class Stripes:
    """Two classes of noisy 8 x 8 images."""

    samples: int = 96

    def load(self):
        random = np.random.default_rng(0)
        targets = np.arange(self.samples) % 2
        patterns = random.integers(0, 200, (2, 8, 8))
        images = np.clip(patterns[targets] + random.normal(0, 60, (self.samples, 8, 8)), 0, 255).astype(np.uint8)
        thirds = np.array_split(np.arange(self.samples), 3)
        train, search, report = (
            numbered_split(name, torch.from_numpy(images[part]), torch.from_numpy(targets[part]), name, part[0])
            for name, part in zip(("train", "search", "report"), thirds, strict=True)
        )
        return Splits(train, search, report, ("stripe", "dot"), Preprocessing.fitted_to(train.images))


@dataclass(frozen=True)
class Linear:
    """A linear classifier."""

    def build(self, input_shape, classes):
        return nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(input_shape)), classes))


@dataclass(frozen=True)
class Smallest:
    """The smallest sub-network of the step teaches the others."""

    passes: ClassVar[int] = 0

    def references(self, of):
        return [*[of.logits[-1]] * (len(of.logits) - 1), None]


@dataclass(frozen=True)
class SecondHalf:
    """Nothing in the first half of the training."""

    begin: ClassVar[float] = 0.5

    def __call__(self, progress):
        return float(progress >= 0.5)


@dataclass(frozen=True)
class BothEnds:
    """The largest and the smallest sub-network."""

    tried: ClassVar[int] = 0

    def draw(self, space, even, random, loss_of):
        return [space.largest, space.smallest]


@dataclass(frozen=True)
class NoShrinking:
    """All of the space from the first step."""

    def check(self, space):
        pass

    def phase(self, progress):
        return 0

    def space(self, whole, phase):
        return whole


@dataclass(frozen=True)
class NarrowResNet(ElasticResNet):
    """The elastic residual network with few channels."""

    widths: tuple[tuple[int, ...], ...] = ((4, 6, 8), (8, 12, 16))
    depths: tuple[int, int] = (1, 2)
    stem_width: int = 4


@dataclass(frozen=True)
class Diary:
    """One text file per training."""

    def open(self, training):
        folder = training.folder / "diary"
        folder.mkdir(exist_ok=True)
        return Page(folder / f"{training.identity}.txt", training)


class Page:
    """The lines of a training: its names, then a step and its loss each."""

    def __init__(self, path, training):
        self.path = path
        self.lines = [f"{training.run}, {training.name}"]

    def log(self, step, values):
        self.lines.append(f"{step} {values['loss']}")

    def close(self, finished):
        self.path.write_text("\n".join(self.lines))


class TallyFile:
    """Lines of id, target and answer with blanks between them."""

    columns = ("id", "target", "predicted")
    scores = ()

    def __init__(self, path: Path) -> None:
        self.rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]

    def read(self, columns, scores):
        ids, *numbers = zip(*self.rows, strict=True)
        found = {
            "id": np.array(ids),
            **{name: np.array(column, int) for name, column in zip(("target", "predicted"), numbers, strict=True)},
        }
        return Content({name: found[name] for name in columns})


def _network(path):
    network = pickle.loads(path.read_bytes())

    def run(images):
        with torch.no_grad():
            return network(images)

    return run


PICKLED = Format("pickle", (), lambda material: pickle.dumps(material.network), _network)
