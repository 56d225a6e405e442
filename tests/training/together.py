"""What the processes of test_distributed do: every scenario in turn, each leaves its result beside its rank.

Run alone, by the test itself, the same scenarios give what several processes are compared with.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

from regnas.augmentations.cutmix import CutMix
from regnas.augmentations.horizontal_flip import HorizontalFlip
from regnas.augmentations.mixup import Mixup
from regnas.augmentations.random_erasing import RandomErasing
from regnas.augmentations.shift import Shift
from regnas.cli import exit_code
from regnas.data import Preprocessing, Split
from regnas.errors import ArtifactError, DataError, RegnasError
from regnas.losses import CrossEntropy, LogitDifferenceInhibition
from regnas.networks import SmallResNet
from regnas.runtime import signals
from regnas.runtime.processes import SINGLE, current_processes, joined
from regnas.runtime.tensors import save_tensors
from regnas.training import (
    Curriculum,
    DecayToward,
    Recipe,
    SingleNetwork,
    SupernetObjective,
    TeachingTerm,
    Trainer,
)
from regnas.training.averaging import Lookahead
from regnas.training.distributed import SharedStatistics
from regnas.training.initialization import WhitenedStem, ZeroResidualNorms
from regnas.training.optimizers import AdamW, Muon
from regnas.training.sub_networks import Attentive, Sandwich
from regnas.training.teachers import Mean
from supernets.elastic_resnet import ElasticResNet

SAMPLES, BATCH, STEPS = 70, 16, 8  # four steps an epoch
AUGMENTATIONS = (HorizontalFlip(), Shift(1))


def split():
    random = torch.Generator().manual_seed(0)
    targets = torch.arange(SAMPLES) % 3
    images = torch.randint(0, 60, (SAMPLES, 1, 8, 8), generator=random) + 60 * targets[:, None, None, None]
    ids = np.array([f"s{index}" for index in range(SAMPLES)])
    return Split("train", images.to(torch.uint8), targets, ids, np.arange(SAMPLES))


def network(norm=True):
    torch.manual_seed(1)
    norms = [nn.BatchNorm2d(4)] if norm else []
    return nn.Sequential(nn.Conv2d(1, 4, 3), *norms, nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))


def trainer(processes=SINGLE, **changes):
    settings = {"epochs": 2, "batch_size": BATCH, "augmentations": AUGMENTATIONS, "ema_decay": 0.5} | changes
    data = split()
    return Trainer(Recipe(**settings), data, Preprocessing.fitted_to(data.images), torch.device("cpu"), processes)


class Watched:
    """An objective that notes its losses and the samples and, in one process of several, acts at a step."""

    single_labels = ""

    def __init__(self, objective, act=None, at=None):
        self.objective = objective
        self.act, self.at = act, at
        self.losses, self.samples = [], []

    def __call__(self, model, step):
        self.samples.append(step.indices.tolist())
        loss = self.objective(model, step)
        self.losses.append(float(loss.detach()))
        return self.act(loss) if step.index == self.at else loss

    def after_step(self, model, learning_rate):
        if isinstance(self.objective, SingleNetwork):
            self.objective.after_step(model, learning_rate)


class Scenarios:
    def __init__(self, folder, processes=SINGLE):
        self.folder = folder
        self.processes = processes
        self.told = {}

    def tell(self, name, **facts):
        self.told[name] = facts

    def keep(self, name, tensors):
        save_tensors(self.folder / f"{name}-{self.processes.rank}.safetensors", tensors)

    def all(self):
        for name, scenario in vars(type(self)).items():  # in the order in which they stand here
            if name.startswith("do_"):
                scenario(self, name.removeprefix("do_"))
                signals._received.clear()
        (self.folder / f"told-{self.processes.rank}.json").write_text(json.dumps(self.told))

    def trained(self, name, model, objective, place="", act=None, at=None, **changes):
        watched = Watched(objective, act, at)
        failure = None
        try:
            trainer(self.processes, **changes).train(model, watched, (0,), self.folder / (place or name), "")
        except RegnasError as error:
            failure = [type(error).__name__, error.exit_code, str(error)]
        self.keep(name, model.state_dict())
        self.tell(name, losses=watched.losses, samples=watched.samples, failure=failure)

    def do_norms(self, name):
        """Values and gradients of batch norms, in double precision, of images with a mean far from 0."""
        random = torch.Generator().manual_seed(5)
        found = {}
        for case, (norm, shape) in {
            "images": (nn.BatchNorm2d(3), (8, 3, 2, 5)),
            "rows": (nn.BatchNorm1d(3), (8, 3)),
            "plain": (nn.BatchNorm2d(3, affine=False, momentum=None), (8, 3, 2, 2)),
            "unremembered": (nn.BatchNorm2d(3, track_running_stats=False), (8, 3, 2, 2)),
        }.items():
            norm.double()
            for parameter in norm.parameters():
                nn.init.uniform_(parameter, 1, 2, generator=random)
            whole = 1000 + torch.randn(shape, generator=random, dtype=torch.float64)
            weights = torch.randn(shape, generator=random, dtype=torch.float64)
            own = whole[self.processes.share].requires_grad_()
            for _ in range(2):
                with SharedStatistics(self.processes):
                    answer = norm(own)
            (answer * weights[self.processes.share]).sum().backward()
            found |= {f"{case} answer": answer, f"{case} gradient": own.grad}
            found |= {f"{case} {key} gradient": parameter.grad for key, parameter in norm.named_parameters()}
            found |= {f"{case} {key}": value for key, value in norm.state_dict().items()}
            with SharedStatistics(self.processes):  # not in training: nothing is shared
                found[f"{case} evaluated"] = norm.eval()(whole) if norm.running_mean is not None else torch.zeros(1)
        self.keep(name, found)

    def do_single(self, name):
        self.trained(name, network(), SingleNetwork())

    def do_supernet(self, name, sub_networks=None):
        plugin = ElasticResNet(widths=((4, 6), (6, 8)), depths=(1, 2), stem_width=4)
        torch.manual_seed(2)
        supernet = plugin.supernet((1, 8, 8), 3)
        lessons = {"congruence": TeachingTerm(Mean(), LogitDifferenceInhibition())}
        curriculum = Curriculum(sub_networks or Sandwich(2), lessons)
        objective = SupernetObjective(plugin.space((1, 8, 8), 3), curriculum, CrossEntropy(), (0,))
        drawn = []
        architectures = objective.architectures

        def noted(*arguments):
            chosen = architectures(*arguments)
            drawn.append([architecture.id for architecture in chosen])
            return chosen

        objective.architectures = noted
        self.trained(name, supernet, objective)
        self.told[name]["architectures"] = drawn

    def do_attentive(self, name):
        """What is drawn depends on losses, which every process has of other images."""
        self.do_supernet(name, Attentive(1, 4))

    def do_decayed(self, name):
        """The weights also move outside of the gradient, strongly enough to end elsewhere."""
        model = network()
        start = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        self.trained(name, model, SingleNetwork(decay=DecayToward(start, 5.0)))

    def do_adamw(self, name):
        self.trained(name, network(), SingleNetwork(), optimizer=AdamW(), learning_rate=0.01)

    def do_muon(self, name):
        self.trained(name, network(), SingleNetwork(), optimizer=Muon())

    def do_initialized(self, name):
        """Whitened with training images, and with averages that the training continues from."""
        torch.manual_seed(3)
        model = SmallResNet((8, 8)).build((1, 8, 8), 3)
        changes = {"initialization": (WhitenedStem(), ZeroResidualNorms()), "ema_decay": 0.0, "averaging": Lookahead(2)}
        trainer(self.processes, **changes).initialize(model)
        self.keep(f"{name} start", model.state_dict())
        self.trained(name, model, SingleNetwork(), **changes)

    def do_accumulated(self, name):
        self.trained(name, network(), SingleNetwork(), accumulation=2)

    def do_mixed(self, name):
        """Images that are mixed with partners, most of which belong to another process, in parts of a batch."""
        augmentations = (*AUGMENTATIONS, RandomErasing(), Mixup(), CutMix())
        self.trained(name, network(), SingleNetwork(), accumulation=2, augmentations=augmentations)

    def do_bfloat16(self, name):
        self.trained(name, network(), SingleNetwork(), accumulation=2, precision="bfloat16")

    def do_stopped(self, name):
        """A signal that only the last process gets, in the middle of an epoch; and then the rest."""

        def ask(loss):
            if self.processes.rank == self.processes.count - 1:
                signals.ask_to_stop(signal.SIGTERM)
            return loss

        self.trained(name, network(), SingleNetwork(), act=ask, at=5)
        signals._received.clear()
        self.trained(f"{name} resumed", network(), SingleNetwork(), place=name)

    def do_diverged(self, name):
        last = self.processes.rank == self.processes.count - 1
        self.trained(name, network(), SingleNetwork(), act=lambda loss: loss * float("nan") if last else loss, at=6)

    def do_uneven(self, name):
        self.trained(name, network(), SingleNetwork(), batch_size=15)

    def do_other_disk(self, name):
        """A checkpoint that only the leader sees."""
        if not self.processes.is_single:
            self.trained(name, network(), SingleNetwork(), place="single" if self.processes.is_main else "elsewhere")

    def do_agreeing(self, name):
        told = {}
        last = self.processes.rank == self.processes.count - 1
        for case, failing in {"last": last, "all": True, "none": False}.items():
            try:
                with self.processes.together():
                    if failing:
                        raise (DataError if self.processes.is_main else ArtifactError)(f"rank {self.processes.rank}")
                told[case] = None
            except RegnasError as error:
                told[case] = [type(error).__name__, error.exit_code, list(error.problems)]
        self.tell(name, **told)

    def do_in_turn(self, name):
        """The first writes what the others read."""
        path = self.folder / "turn"

        def work():
            if self.processes.is_main:
                path.write_text("here")
            return path.exists()

        self.tell(name, there=self.processes.in_turn(work))


if __name__ == "__main__":
    torch.set_num_threads(1)
    place, config, another_port = sys.argv[1:]
    assert exit_code(["train", config, "--out", f"{place}/unbroken"]) == 0
    os.environ["MASTER_PORT"] = another_port
    processes = current_processes()
    with joined(processes):
        Scenarios(Path(place), processes).all()
