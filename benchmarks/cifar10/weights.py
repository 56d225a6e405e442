"""Record the rows of trained shared weights: PC-aware training, polishing, interpolation, and the ablation.

All of them use the architectures of the REG-NAS family of the first seed, so the rows differ only in their weights.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from torch import nn

from benchmarks.cifar10.recording import ROW, Study, load_family
from regnas.losses import (
    CrossEntropy,
    FocalDistillationLM,
    KnowledgeDistillation,
    LogitDifferenceInhibition,
    Loss,
)
from regnas.runs.job import Job
from regnas.runs.supernet_stage import supernet_training_macs, train_supernet
from regnas.runtime.files import read_json
from regnas.runtime.randomness import chooser
from regnas.search.evaluation import Evaluator
from regnas.space import Architecture, BudgetSampler
from regnas.training import Curriculum, ForkedTraining, Given, SupernetObjective, Teacher, TeachingTerm, Trainer
from regnas.training.checkpoint import copy_checkpoints
from regnas.training.schedules import Ramp
from regnas.training.teachers import Largest, Mean, Smaller

EPOCHS, LEARNING_RATE = 16, 0.1
FORK = Ramp(0.67, 0.72)
ALPHAS = (0.25, 0.5, 0.75)
DISTILLATION = TeachingTerm(Largest(), KnowledgeDistillation())
LATE_LESSON = (
    "curriculum.lessons={"
    ' distillation = { teacher = { name = "largest" }, loss = { name = "knowledge_distillation" } },'
    ' congruence = { teacher = { name = "mean" }, loss = { name = "logit_difference_inhibition" }, weight = 1.0,'
    ' schedule = { name = "ramp", start = 0.667, full = 0.72 } } }'
)


@dataclass(frozen=True)
class Variant:
    label: str
    title: str
    teacher: Teacher
    loss: Loss
    weight: float  # labels have the weight of a sum over the classes, a tenth of it

    @property
    def lessons(self) -> dict[str, TeachingTerm]:
        term = TeachingTerm(self.teacher, self.loss, self.weight, FORK)
        return {"distillation": DISTILLATION, "congruence": term}


CHOSEN = Variant("mean-0.1", "mean logits, squared (LDI), weight 0.1", Mean(), LogitDifferenceInhibition(), 1.0)
FURTHER = {
    variant.label: variant
    for variant in (
        Variant("mean-0.5", "mean logits, squared (LDI), weight 0.5", Mean(), LogitDifferenceInhibition(), 5.0),
        Variant("smaller-0.1", "next smaller one, FD-LM, weight 0.1", Smaller(), FocalDistillationLM(), 1.0),
        Variant("mean-kd-4", "mean logits, divergence (KD), weight 4", Mean(), KnowledgeDistillation(), 4.0),
    )
}


def pc_training_row(study: Study, seed: int) -> None:
    """Record a supernet that is the plain one up to two thirds, and has the congruence lesson from there on."""
    if study.has("pc_training", seed):
        return
    job = study.job(f"pc-{seed}", seed, LATE_LESSON)
    began = time.monotonic()
    supernet = train_supernet(job)
    _record(
        study,
        job,
        seed,
        "pc_training",
        "family",
        "PC-aware training of the supernet",
        supernet,
        supernet_training_macs(job),
        time.monotonic() - began,
    )


def polished_rows(study: Study, seed: int) -> None:
    polishing = Polishing(study, seed, CHOSEN)
    names = ["polished_plain", "polished", *(f"interpolation@{alpha:g}" for alpha in ALPHAS)]
    titles = ["Polished without congruence", "Polished", *(f"Polished, alpha {alpha:g}" for alpha in ALPHAS)]
    alphas = [0.0, 1.0, *ALPHAS]
    costs = [polishing.plain_macs, polishing.congruent_macs, *[polishing.both_macs] * len(ALPHAS)]
    for name, title, alpha, macs in zip(names, titles, alphas, costs, strict=True):
        polishing.record(name, "family", title, alpha, macs, {"alpha": alpha})


def ablation_rows(study: Study, seed: int, labels: list[str]) -> None:
    plain = Polishing(study, seed, CHOSEN)
    against = {"against": "ablation-none"}
    plain.record("ablation-none", "ablation", "no congruence term", 0.0, plain.plain_macs, against)
    plain.record(f"ablation-{CHOSEN.label}", "ablation", CHOSEN.title, 1.0, plain.congruent_macs, against)
    for label in labels:
        polishing = Polishing(study, seed, FURTHER[label])
        polishing.begin_from(plain)
        polishing.record(f"ablation-{label}", "ablation", FURTHER[label].title, 1.0, polishing.congruent_macs, against)


class Polishing:
    """The training of ``regnas polish``, with every point of the line as a row."""

    def __init__(self, study: Study, seed: int, variant: Variant) -> None:
        self.study = study
        self.seed = seed
        self.job = study.job(f"plain-{seed}", seed)
        self.folder = study.runs / f"polish-{seed}" / variant.label
        self.members = load_family(study.runs / "plain-0" / "regnas.json")
        recipe = replace(self.job.config.values.training, epochs=EPOCHS, learning_rate=LEARNING_RATE)
        trainer = Trainer(recipe, self.job.splits.train, self.job.splits.preprocessing, self.job.device)
        curriculum = Curriculum(Given(tuple(self.members.values())[::-1]), variant.lessons)
        self.forked = ForkedTraining(trainer, self._objective, curriculum, self.folder)
        self._supernet_macs = supernet_training_macs(self.job)

    def begin_from(self, other: Polishing) -> None:
        """Start from the common part and the plain end of another training, which do not depend on the later lesson."""
        for end in ("shared", "plain"):
            copy_checkpoints(other.folder / end, self.folder / end)

    @property
    def plain_macs(self) -> int:
        return self._supernet_macs + self.forked.trainer.macs(self._objective(self.forked.curriculum.plain()).macs_of)

    @property
    def congruent_macs(self) -> int:
        return self._supernet_macs + self.forked.trainer.macs(self._objective(self.forked.curriculum).macs_of)

    @property
    def both_macs(self) -> int:
        return self._supernet_macs + self.forked.macs()

    def record(
        self, row: str, group: str, title: str, alpha: float, macs: int, settings: Mapping[str, float | str]
    ) -> None:
        if self.study.has(row, self.seed):
            return
        began = time.monotonic()
        start = partial(train_supernet, self.job)  # which is trained already, and only loaded
        ends = self.forked.train(start, (self.seed, "polish"), "polish")
        supernet = start()
        supernet.load_state_dict(ends.at(alpha))
        _record(self.study, self.job, self.seed, row, group, title, supernet, macs, time.monotonic() - began, settings)

    def _objective(self, curriculum: Curriculum) -> SupernetObjective:
        return SupernetObjective(self.job.space, curriculum, CrossEntropy(), (self.seed, "polish"))


def sharing_rows(study: Study, seed: int, families: int = 4) -> None:
    """Record random families of the plain supernet, which show the effect of shared weights without any choice."""
    job = study.job(f"plain-{seed}", seed)
    supernet = train_supernet(job)
    for number in range(families):
        random = chooser(seed, "sharing", number)
        members = {name: BudgetSampler(job.space, budget).sample(random) for name, budget in job.budgets.items()}
        row = f"sharing-supernet-{number}"
        if not study.has(row, seed):
            _record(
                study,
                job,
                seed,
                row,
                "sharing",
                f"Supernet family {number}",
                supernet,
                supernet_training_macs(job),
                0.0,
                members=members,
            )


def _record(
    study: Study,
    job: Job,
    seed: int,
    row: str,
    group: str,
    title: str,
    supernet: nn.Module,
    macs: int,
    seconds: float,
    settings: Mapping[str, float | str] | None = None,
    members: Mapping[str, Architecture] | None = None,
) -> None:
    members_given = members is not None
    members = members or load_family(study.runs / "plain-0" / "regnas.json")
    evaluator = Evaluator.in_process(supernet.eval(), job.splits, job.calibration_images, job.device)
    networks = {name: evaluator.network(architecture) for name, architecture in members.items()}
    searched = 0 if members_given else int(read_json(study.place("regnas", 0) / ROW)["search_macs"])
    study.record(row, seed, group, title, job, networks, members, macs, seconds, searched, settings)
