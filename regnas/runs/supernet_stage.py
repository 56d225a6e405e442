"""The first stage of a run: train the supernet by its curriculum, and the supernets that teach it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import torch
from torch import nn

from regnas.runs.folder import CLIPPING
from regnas.runs.job import Job, imported_weights
from regnas.runs.tables import describe
from regnas.runtime.randomness import Key, key_to_int
from regnas.runtime.tensors import load_into
from regnas.training import Curriculum, ForkedTraining, SupernetObjective

TRAINING_MACS = "supernet_training_macs"  # a fact

log = logging.getLogger("regnas")


def train_supernet(job: Job) -> nn.Module:
    """Train the supernet from random or imported weights; with 0 epochs, leave the imported weights unchanged."""
    values = job.config.values
    before = [_train_teacher(job, number) for number in range(_supernets_before(job))]
    doing = "train" if values.training.epochs and not job.folder.supernet_trained else "load"
    log.info("%s the supernet: %s", doing, describe(job.config.table, "supernet"))
    key = (values.seed, "supernet")
    supernet = _new_supernet(job, key)
    if values.curriculum.interpolation is None or not values.training.epochs:
        objective = _supernet_objective(job, before)
        clipping = {"": job.trainer.train(supernet, objective, key, job.folder.supernet, "train supernet")}
    else:
        ends = _forked(job, before).train(lambda: _new_supernet(job, key), key, "train supernet")
        supernet.load_state_dict(ends.at(values.curriculum.interpolation))
        clipping = dict(ends.clipping)
    if values.training.epochs:
        job.folder.add(CLIPPING, {f"supernet {end}".strip(): counts.to_json() for end, counts in clipping.items()})
    return supernet.to(job.device, memory_format=torch.channels_last).eval()  # type: ignore[call-overload, no-any-return]


def supernet_training_macs(job: Job) -> int:
    """Return the multiply-adds of the supernet's training, including the supernets that teach it.

    They are counted once, by repeating the draws of every step, and then recorded.
    """
    if TRAINING_MACS not in job.folder.facts:
        job.folder.keep(TRAINING_MACS, _count_training_macs(job))
    return int(job.folder.facts[TRAINING_MACS])


def _count_training_macs(job: Job) -> int:
    teachers = [_teacher_objective(job, number) for number in range(_supernets_before(job))]
    if job.config.values.curriculum.interpolation is None:
        own = job.trainer.macs(_supernet_objective(job).macs_of)
    else:
        own = _forked(job).macs()
    return own + sum(job.trainer.macs(objective.macs_of) for objective in teachers)


def _train_teacher(job: Job, number: int) -> nn.Module:
    """Train one of the supernets that teach; return it in training mode, because it has no batch-norm statistics."""
    objective = _teacher_objective(job, number)
    supernet = _new_supernet(job, objective.key)
    place = job.folder.supernet / f"teacher-{number}"
    clipping = job.trainer.train(supernet, objective, objective.key, place, f"train teacher {number + 1}")
    job.folder.add(CLIPPING, {f"teacher {number + 1}": clipping.to_json()})
    return supernet.train()


def _new_supernet(job: Job, key: tuple[Key, ...]) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key_to_int(*key, "start"))
        supernet = job.config.values.supernet.supernet(job.splits.input_shape, job.classes)
    imported = imported_weights(job.config, job.splits)
    if imported is None:
        job.trainer.initialize(supernet)
    else:
        log.info("start from imported weights: %s", imported.path)
        load_into(supernet, imported.tensors(), imported.path)
    return supernet


def _supernets_before(job: Job) -> int:
    """Count the supernets that teach; with 0 epochs there are none."""
    return job.config.values.curriculum.supernets_before if job.config.values.training.epochs else 0


def _supernet_objective(
    job: Job, before: Sequence[nn.Module] = (), curriculum: Curriculum | None = None
) -> SupernetObjective:
    values = job.config.values
    key = (values.seed, "supernet")
    return SupernetObjective(job.space, curriculum or values.curriculum, values.training.label_loss, key, before)


def _forked(job: Job, before: Sequence[nn.Module] = ()) -> ForkedTraining:
    return ForkedTraining(
        job.trainer,
        lambda curriculum: _supernet_objective(job, before, curriculum),
        job.config.values.curriculum,
        job.folder.supernet,
    )


def _teacher_objective(job: Job, number: int) -> SupernetObjective:
    values = job.config.values
    key = (values.seed, "supernet", f"teacher-{number}")
    return SupernetObjective(job.space, values.curriculum.without_ensembles(), values.training.label_loss, key)
